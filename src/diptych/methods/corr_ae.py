"""Correspondence autoencoders: two autoencoders whose codes of a pair are pulled together."""

from collections.abc import Mapping
from typing import ClassVar

from diptych._core.errors import ConfigError
from diptych.methods.deep.dbn_stage import CodedModality, train_dbn
from diptych.methods.deep.deep_method import DeepMethod
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.deep.retrieval_judge import retrieval_judge
from diptych.methods.deep.workshop import Workshop, frozen_layer
from diptych.methods.selection import Search, Validation
from diptych.nets import CorrespondenceAutoencoder, CorrespondenceObjective, Variant
from diptych.training import History

ALPHAS = (0.2, 0.5, 0.8)
PUBLISHED_ALPHA: Mapping[str, float] = {"corr": 0.8, "cross": 0.2, "full": 0.8}


class CorrAE(DeepMethod):
    """h_m = σ(W_m x_m + b_m) on the codes of two DBNs, under (1 − α)·reconstruction + α·½‖h₁ − h₂‖².

    Each code rebuilds its own modality ("corr"), the other ("cross") or both ("full"). No labels.

    Paper: Feng, Wang and Li, Cross-modal Retrieval with Correspondence Autoencoder, ACM MM 2014. The weights and α are
    those that retrieve best on validation.

    Args:
        variant: what each code rebuilds.
        alpha: weight of the correspondence; None chooses it on validation.
        profile: see `DeepMethod`.
        seed: see `DeepMethod`.
        device: see `DeepMethod`.
        cache: see `DeepMethod`.
    """

    citation: ClassVar[str] = "F. Feng, X. Wang, R. Li. Cross-modal Retrieval with Correspondence Autoencoder. MM 2014."

    def __init__(
        self,
        variant: Variant = "full",
        alpha: float | None = None,
        profile: str = "standard",
        seed: int = 0,
        device: str = "auto",
        cache: str | None = "auto",
    ) -> None:
        super().__init__(profile, seed, device, cache)
        self.variant = variant
        self.alpha = alpha

    def _check(self) -> None:
        if self.variant not in PUBLISHED_ALPHA:
            raise ConfigError(f"variant is {self.variant!r}; choose one of {', '.join(PUBLISHED_ALPHA)}.")
        if self.alpha is not None and not 0 <= self.alpha <= 1:
            raise ConfigError(f"alpha is {self.alpha}; it must lie from 0 to 1.")

    def _train(self, shop: Workshop) -> dict[str, Chain]:
        coded = {name: train_dbn(shop, name) for name in shop.data.modalities}
        if self.alpha is not None or Validation.of(shop.data) is None:
            alpha = self.alpha if self.alpha is not None else PUBLISHED_ALPHA[self.variant]
            self.record_["chosen"] = {"alpha": alpha}
            return self._train_once(shop, coded, alpha)[0]
        search, chosen = Search(), {}
        for alpha in ALPHAS:
            chains, history = self._train_once(shop, coded, alpha)
            if search.add({"alpha": alpha}, history.best_score or 0.0):
                chosen = chains
        self.record_["selection"] = search.trials
        self.record_["chosen"] = search.best
        return chosen

    def _train_once(
        self, shop: Workshop, coded: Mapping[str, CodedModality], alpha: float
    ) -> tuple[dict[str, Chain], History]:
        pairs = shop.data.train.having(*coded)
        rows = {name: run_chain(modality.chain, pairs.features(name)) for name, modality in coded.items()}
        net = CorrespondenceAutoencoder(
            {name: modality.width for name, modality in coded.items()},
            shop.profile.code_width,
            shop.random("correspondence"),
            variant=self.variant,
        )
        judge = retrieval_judge(shop, {name: modality.chain for name, modality in coded.items()}, net.code)
        stage = shop.train(
            f"correspondence autoencoder ({self.variant}, α {alpha:g})",
            CorrespondenceObjective(net, {name: shop.tensor(values) for name, values in rows.items()}, alpha),
            shop.settings("correspondence-cross" if self.variant == "cross" else "correspondence"),
            inputs={**rows, **(judge.inputs if judge else {})},
            options={"variant": self.variant, "alpha": alpha},
            upstream=tuple(modality.key for modality in coded.values()),
            validate=judge,
        )
        chains: dict[str, Chain] = {
            name: (*modality.chain, frozen_layer(net.encoders[name], "sigmoid")) for name, modality in coded.items()
        }
        return chains, stage.history
