"""CDMLMR: cross-modal deep metric learning with multi-task regularization, trained as one network."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, ClassVar, Literal

from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress, WholeFit
from diptych.data import Protocol, TrainingData
from diptych.methods.deep.cdmlmr_staged import StagedCDMLMR
from diptych.methods.deep.class_space import branch_space, probability_space
from diptych.methods.deep.cmdn import BaseNetwork
from diptych.methods.deep.deep_method import DeepMethod, StageContext, monitoring
from diptych.methods.deep.layers import Chain
from diptych.methods.deep.network_training import RATE, frozen_towers, train_network
from diptych.methods.deep.profile import FAST, Sizes, sizes_for
from diptych.methods.linear.partner_space import PartnerScorer, add_partner_space, fit_partner_embedders
from diptych.methods.training_inputs import Documents, documents
from diptych.nets.cdmlmr import Branch, CdmlmrOptions, Negatives

Losses = Literal["both", "contrastive", "quadruplet", "triplet", "none"]
Retrieved = Literal["probabilities", "codes"]

_BRANCHES: dict[str, tuple[Branch, ...]] = {
    "both": ("contrastive", "quadruplet"),
    "contrastive": ("contrastive",),
    "quadruplet": ("quadruplet",),
    "triplet": ("triplet",),
    "none": (),
}

_ALWAYS_HAD = ("losses", "profile", "seed", "device", "cache")
"""Parameters that mean the same in models saved when this class trained in stages."""


class CDMLMR(DeepMethod):
    """One network for all modalities under a contrastive and a quadruplet loss, with softmax losses as regularisers.

    Towers started from DBNs, supervised nets, shared embeddings S, pathways and a branch for each loss are one module
    and are trained together: L = L_contrastive + L_quadruplet + Σ softmax losses + 0.1 · cross-reconstruction.
    Retrieval uses class probabilities, as embeddings whose cosine is the probability that two items share a class. A
    partner space finds an item's own partner (see `purposes`); without labels it is the only space.

    With more than two modalities each has a tower, and losses between modalities are summed over the pairs of
    modalities that occur together. Items with at least two modalities contribute those they have.

    Paper: Huang and Peng, Cross-modal Deep Metric Learning with Multi-task Regularization, ICME 2017. `profile="paper"`
    trains stage by stage as published (`StagedCDMLMR`). Every other difference is a switch;
    docs/explanation/methods/cdmlmr.md gives its reason and its measured effect. By default sizes, steps and
    regularisation follow from the numbers of rows and columns (`diptych.methods.deep.profile`).

    Args:
        losses: "both", "contrastive" or "quadruplet" for the ablations, "triplet" for a triplet loss instead, or "none"
            for the base network, which retrieves with S.
        members: number of networks trained in parallel and averaged.
        fine_tune: let the metric losses train the base network too; if False, their gradients stop at S.
        use_dbn: start the towers from trained machines.
        read_features: let the supervised nets read the features in addition to the DBN's embeddings.
        feature_skip: a linear connection from the features into S.
        equal_start: start the pathways of both modalities from the same weights.
        branch_softmax: a softmax loss on each branch.
        quadruplet_negatives: "softmin" over all mismatches in the batch, or "random" as published.
        mixup: parameter of the Beta distribution for blending rows; 0 turns it off.
        linear_member: average with a logistic regression, whose share is chosen on validation.
        kernel_member: let that regression use a Gaussian kernel of the features if that makes held-out classes more
            probable.
        retrieved: "probabilities", or "codes": the branches' outputs, as published.
        partner_space: learn the partner space.
        contrastive_margin: α.
        quadruplet_margin: β.
        triplet_margin: the margin of the triplet loss.
        unlabelled_weight: weight of unlabelled rows.
        neighbours: k of the graph within a batch.
        quantisation: weight of a term that draws branch outputs towards ±1, for binary codes with retrieved="codes".
        rate: learning rate.
        steps: number of training steps.
        profile: "standard", "fast" for tests, or "paper".
        seed: see `DeepMethod`.
        device: see `DeepMethod`.
        cache: see `DeepMethod`.
    """

    uses_labels: ClassVar[bool] = True
    works_without_labels: ClassVar[bool] = True
    uses_unlabelled: ClassVar[bool] = True
    takes_several_labels: ClassVar[bool] = True
    max_modalities: ClassVar[int | None] = None
    citation: ClassVar[str] = StagedCDMLMR.citation

    def __init__(
        self,
        losses: Losses = "both",
        members: int | None = None,
        fine_tune: bool = True,
        use_dbn: bool = True,
        read_features: bool = True,
        feature_skip: bool = True,
        equal_start: bool = True,
        branch_softmax: bool = True,
        quadruplet_negatives: Negatives = "softmin",
        mixup: float | None = None,
        linear_member: bool = True,
        kernel_member: bool = True,
        retrieved: Retrieved = "probabilities",
        partner_space: bool = True,
        contrastive_margin: float = 1.2,
        quadruplet_margin: float = 1.0,
        triplet_margin: float = 0.5,
        unlabelled_weight: float = 0.3,
        neighbours: int = 10,
        quantisation: float = 0.0,
        rate: float = RATE,
        steps: int | None = None,
        profile: str = "standard",
        seed: int = 0,
        device: str = "auto",
        cache: str | None = "auto",
    ) -> None:
        super().__init__(profile, seed, device, cache)
        self.losses = losses
        self.members = members
        self.fine_tune = fine_tune
        self.use_dbn = use_dbn
        self.read_features = read_features
        self.feature_skip = feature_skip
        self.equal_start = equal_start
        self.branch_softmax = branch_softmax
        self.quadruplet_negatives = quadruplet_negatives
        self.mixup = mixup
        self.linear_member = linear_member
        self.kernel_member = kernel_member
        self.retrieved = retrieved
        self.partner_space = partner_space
        self.contrastive_margin = contrastive_margin
        self.quadruplet_margin = quadruplet_margin
        self.triplet_margin = triplet_margin
        self.unlabelled_weight = unlabelled_weight
        self.neighbours = neighbours
        self.quantisation = quantisation
        self.rate = rate
        self.steps = steps

    @classmethod
    def divide_saved(cls, params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Open models saved when this class trained in stages: what meant something else then is set aside."""
        staged, known = StagedCDMLMR.parameter_defaults(), cls.parameter_defaults()
        if not any(name in staged and name not in known for name in params):
            return super().divide_saved(params)
        kept = {name: value for name, value in params.items() if name not in staged or name in _ALWAYS_HAD}
        return kept, {name: value for name, value in params.items() if name not in kept}

    def _most_modalities(self) -> int | None:
        return StagedCDMLMR.max_modalities if self.profile == "paper" else self.max_modalities

    def _check(self) -> None:
        if self.losses not in _BRANCHES:
            raise ConfigError(f"losses is {self.losses!r}; choose one of {', '.join(_BRANCHES)}.")
        if self.retrieved not in ("probabilities", "codes"):
            raise ConfigError(f"retrieved is {self.retrieved!r}; choose one of probabilities, codes.")
        if self.profile == "paper" and self.losses == "triplet":
            raise ConfigError("the published network has no triplet loss; leave profile at 'standard'.")
        for name in ("members", "steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} is {value}; it must be at least 1.")
        if not self.rate > 0:
            raise ConfigError(f"rate is {self.rate}; it must be positive.")
        if not (self.use_dbn or self.read_features):
            raise ConfigError("use_dbn and read_features are both off, so the nets would read nothing; leave one on.")
        self._options(FAST)

    def saw(self, protocol: Protocol, data: TrainingData) -> str:
        """What this method's fit reads under a protocol, in a few words."""
        reads_pool = self._reads_pool and data.train.labels.is_labelled.any()
        return super().saw(protocol, data if reads_pool else replace(data, pools={}))

    @property
    def _reads_pool(self) -> bool:
        published = self.profile == "paper" and self.losses not in ("both", "contrastive")
        return self.uses_unlabelled and self.unlabelled_weight > 0 and not published

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        several_stages = self.profile != "paper" and data.train.labels.is_labelled.any()
        super()._fit(data, WholeFit(progress, data.modalities) if several_stages else progress)

    def _train(self, context: StageContext) -> dict[str, Chain]:
        if not context.data.train.labels.is_labelled.any():
            return self._train_without_labels(context)
        if self.profile == "paper":
            return self._train_in_stages(context)
        source = documents(context.data, with_pool=self._reads_pool)
        sizes = self._sizes(source)
        trained = train_network(
            context,
            source,
            sizes,
            self._switches(),
            self._options(sizes),
            with_dbn=self.use_dbn,
            rate=self.rate,
        )
        self.record_["sizes"] = asdict(sizes)
        self.record_["monitoring"] = monitoring(trained.history)
        towers = frozen_towers(trained.net, trained.prepare)
        if self.retrieved == "codes" or (self.losses != "none" and not self.branch_softmax):
            classes = branch_space(source, towers)
        else:
            classes = probability_space(
                context, source, towers, with_regression=self.linear_member, with_kernel=self.kernel_member
            )
        self.record_["selection"] = classes.search.trials
        self.record_["chosen"] = {
            "members": sizes.members,
            "steps": sizes.steps,
            "heads": list(classes.heads),
            "regression_weight": classes.regression_weight,
            "regressions": classes.regressions,
            "temperatures": classes.temperatures,
        }
        if not self.partner_space:
            return {name: (each,) for name, each in classes.embedders.items()}
        joined = add_partner_space(context.data, classes.embedders, context.progress)
        self.spaces_ = joined.widths
        self.record_["partner_selection"] = joined.trials
        self.record_["chosen"] |= joined.chosen
        return {name: (each,) for name, each in joined.embedders.items()}

    def _train_without_labels(self, context: StageContext) -> dict[str, Chain]:
        """Learn the partner space alone, from pairs."""
        if not self.partner_space:
            raise FitError("no training item has a label, and without labels only the partner space can be learned.")
        partners, chosen, search = fit_partner_embedders(context.data, PartnerScorer.of(context.data), context.progress)
        self.spaces_ = {"partner": next(iter(partners.values())).width}
        self.record_["selection"] = search.trials
        self.record_["chosen"] = chosen
        return {name: (each,) for name, each in partners.items()}

    def _train_in_stages(self, context: StageContext) -> dict[str, Chain]:
        """Train the published network, without what this class changes."""
        if self.losses == "none":
            return BaseNetwork(self.profile, self.seed, self.device, self.cache)._train(context)
        assert self.losses != "triplet", "refused before the fit"
        staged = StagedCDMLMR(losses=self.losses, profile=self.profile, seed=self.seed)
        staged.record_ = self.record_
        return staged._train(context)

    def _sizes(self, source: Documents) -> Sizes:
        columns = [column.values.shape[1] for column in source.labelled.columns.values()]
        sizes = FAST if self.profile == "fast" else sizes_for(len(source.labelled), columns)
        given = {name: getattr(self, name) for name in ("members", "steps", "mixup")}
        return replace(sizes, **{name: value for name, value in given.items() if value is not None})

    def _switches(self) -> dict[str, Any]:
        return {
            "branches": _BRANCHES[self.losses],
            "read_features": self.read_features,
            "feature_skip": self.feature_skip,
            "equal_start": self.equal_start,
            "branch_softmax": self.branch_softmax,
            "stop_gradients": not self.fine_tune,
        }

    def _options(self, sizes: Sizes) -> CdmlmrOptions:
        return CdmlmrOptions(
            contrastive_margin=self.contrastive_margin,
            quadruplet_margin=self.quadruplet_margin,
            triplet_margin=self.triplet_margin,
            quadruplet_negatives=self.quadruplet_negatives,
            mixup=sizes.mixup if self.mixup is None else self.mixup,
            input_dropout=sizes.input_dropout,
            dropout=sizes.dropout,
            unlabelled_weight=self.unlabelled_weight,
            neighbours=self.neighbours,
            ramp_steps=sizes.steps // 2,
            quantisation=self.quantisation,
        )


class QuadrupletCDMLMR(CDMLMR):
    """CDMLMR's ablation "Quad": the quadruplet loss alone, which does not use unlabelled items."""

    uses_unlabelled: ClassVar[bool] = False


class TripletNetwork(CDMLMR):
    """CDMLMR's towers under cross-modal triplets instead of its two losses: deep ranking on the same network.

    Papers: Wang et al., Learning Fine-grained Image Similarity with Deep Ranking, CVPR 2014; Lai et al., Simultaneous
    Feature Learning and Hash Coding with Deep Neural Networks, CVPR 2015. Theirs rank images by images; here the anchor
    is of one modality, its match and its mismatch of the other, both ways round.
    """

    uses_unlabelled: ClassVar[bool] = False
    citation: ClassVar[str] = (
        "J. Wang et al.: Learning Fine-grained Image Similarity with Deep Ranking. CVPR 2014. "
        "H. Lai, Y. Pan, Y. Liu, S. Yan: Simultaneous Feature Learning and Hash Coding with Deep Neural Networks. "
        "CVPR 2015."
    )
