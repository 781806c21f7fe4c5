"""Bimodal and correspondence autoencoders over two DBNs, and the bimodal stage that CDMLMR and CMDN share."""

from collections.abc import Mapping
from typing import ClassVar

from diptych._core.errors import ConfigError
from diptych.features import fit_scaling
from diptych.methods.deep.dbn import EmbeddedModality, train_dbn
from diptych.methods.deep.deep_method import DeepMethod, StageContext, frozen_layer, validation_scorer
from diptych.methods.deep.layers import Chain, run_chain
from diptych.methods.selection import Search, Validation
from diptych.nets import (
    BimodalAutoencoder,
    BimodalObjective,
    CorrespondenceAutoencoder,
    CorrespondenceObjective,
    Variant,
)
from diptych.training import History


def train_bimodal(
    context: StageContext,
    name: str,
    kind: str,
    embedded: Mapping[str, EmbeddedModality],
    middle: int,
    *,
    supervised: bool,
    rescale: bool,
) -> dict[str, EmbeddedModality]:
    """Train on pairs of embeddings and return each modality's own way to the middle layer.

    Args:
        context: what the stages of the fit share.
        name: what to call the stage.
        kind: which settings it takes.
        embedded: the modalities as they come in.
        middle: width of the middle layer.
        supervised: add the softmax head and learn from labelled pairs only; else from all pairs, without labels.
        rescale: bring unbounded embeddings to [0, 1] with training statistics, which the sigmoid reconstruction needs.
    """
    pairs = context.data.train.having(*embedded)
    pairs = pairs.labelled() if supervised else pairs
    chains: dict[str, Chain] = {name: modality.chain for name, modality in embedded.items()}
    if rescale:
        embeddings = {name: run_chain(chain, pairs.features(name)) for name, chain in chains.items()}
        chains = {name: (*chain, fit_scaling(embeddings[name], "dense", "minmax")) for name, chain in chains.items()}
    rows = {name: run_chain(chain, pairs.features(name)) for name, chain in chains.items()}
    classes = len(context.data.classes) if supervised else None
    net = BimodalAutoencoder(
        {name: values.shape[1] for name, values in rows.items()},
        middle,
        context.random("bimodal", name),
        classes=classes,
    )
    labels = context.tensor(pairs.labels.codes) if supervised else None
    scorer = validation_scorer(context, chains, net.embed)
    trained = context.train(
        name,
        BimodalObjective(net, {key: context.tensor(values) for key, values in rows.items()}, labels),
        context.settings(kind),
        inputs={
            **{f"rows {key}": values for key, values in rows.items()},
            **({"labels": labels} if labels is not None else {}),
            **(scorer.inputs if scorer else {}),
        },
        options={"supervised": supervised, "classes": classes},
        upstream=tuple(modality.key for modality in embedded.values()),
        validate=scorer,
    )
    return {
        name: EmbeddedModality(
            (*chain, frozen_layer(net.encoders[name], "sigmoid", net.middle_bias)), trained.key, middle
        )
        for name, chain in chains.items()
    }


class BimodalAE(DeepMethod):
    """A bimodal autoencoder over the embeddings of two DBNs, which must reconstruct both from either alone.

    z = σ(W₁x₁ + W₂x₂ + b); a missing modality counts as zero, and training shows each pair three times: first
    modality alone, second alone, both. No labels.

    Paper: Ngiam et al., Multimodal Deep Learning, ICML 2011; as a retrieval baseline, Feng et al., ACM MM 2014. The
    weights that retrieve best on validation are kept.
    """

    citation: ClassVar[str] = "J. Ngiam et al. Multimodal Deep Learning. ICML 2011."

    def _train(self, context: StageContext) -> dict[str, Chain]:
        embedded = {name: train_dbn(context, name) for name in context.data.modalities}
        shared = train_bimodal(
            context, "bimodal AE", "bimodal", embedded, context.profile.embedding_width, supervised=False, rescale=False
        )
        return {name: modality.chain for name, modality in shared.items()}


ALPHAS = (0.2, 0.5, 0.8)
PUBLISHED_ALPHA: Mapping[str, float] = {"corr": 0.8, "cross": 0.2, "full": 0.8}


class CorrAE(DeepMethod):
    """h_m = σ(W_m x_m + b_m) on the embeddings of two DBNs, under (1 − α)·reconstruction + α·½‖h₁ − h₂‖².

    Each embedding rebuilds its own modality ("corr"), the other ("cross") or both ("full"). No labels.

    Paper: Feng, Wang and Li, Cross-modal Retrieval with Correspondence Autoencoder, ACM MM 2014. The weights and α are
    those that retrieve best on validation.

    Args:
        variant: what each embedding rebuilds.
        alpha: weight of the correspondence; None chooses it on validation.
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

    def _train(self, context: StageContext) -> dict[str, Chain]:
        embedded = {name: train_dbn(context, name) for name in context.data.modalities}
        if self.alpha is not None or Validation.of(context.data) is None:
            alpha = self.alpha if self.alpha is not None else PUBLISHED_ALPHA[self.variant]
            self.record_["chosen"] = {"alpha": alpha}
            return self._train_once(context, embedded, alpha)[0]
        search, chosen = Search(), {}
        for alpha in ALPHAS:
            chains, history = self._train_once(context, embedded, alpha)
            if search.add({"alpha": alpha}, history.best_score or 0.0):
                chosen = chains
        self.record_["selection"] = search.trials
        self.record_["chosen"] = search.best
        return chosen

    def _train_once(
        self, context: StageContext, embedded: Mapping[str, EmbeddedModality], alpha: float
    ) -> tuple[dict[str, Chain], History]:
        pairs = context.data.train.having(*embedded)
        rows = {name: run_chain(modality.chain, pairs.features(name)) for name, modality in embedded.items()}
        net = CorrespondenceAutoencoder(
            {name: modality.width for name, modality in embedded.items()},
            context.profile.embedding_width,
            context.random("correspondence"),
            variant=self.variant,
        )
        scorer = validation_scorer(context, {name: modality.chain for name, modality in embedded.items()}, net.embed)
        stage = context.train(
            f"correspondence autoencoder ({self.variant}, α {alpha:g})",
            CorrespondenceObjective(net, {name: context.tensor(values) for name, values in rows.items()}, alpha),
            context.settings("correspondence-cross" if self.variant == "cross" else "correspondence"),
            inputs={**rows, **(scorer.inputs if scorer else {})},
            options={"variant": self.variant, "alpha": alpha},
            upstream=tuple(modality.key for modality in embedded.values()),
            validate=scorer,
        )
        chains: dict[str, Chain] = {
            name: (*modality.chain, frozen_layer(net.encoders[name], "sigmoid")) for name, modality in embedded.items()
        }
        return chains, stage.history
