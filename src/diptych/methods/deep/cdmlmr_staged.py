"""CDMLMR as published: stage by stage, each frozen before the next."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from diptych._core.errors import ConfigError
from diptych.data import Protocol, TrainingData
from diptych.methods.deep.cmdn import shared_embeddings
from diptych.methods.deep.deep_method import DeepMethod, StageContext, monitoring
from diptych.methods.deep.layers import Chain
from diptych.methods.deep.metric_design import MetricData, MetricDesign, metric_data
from diptych.methods.deep.metric_training import GRIDS, Grid, MetricSearch, TrainedPathways, train_pathways
from diptych.methods.selection import Validation
from diptych.nets.losses import ContrastiveForm, Reduction
from diptych.nets.metric_learning import MetricOptions
from diptych.nets.pathways import Branch, Representation, TrunkActivation
from diptych.nets.samplers import Metric, UnlabelledNegatives, UnlabelledPairs

Losses = Literal["both", "contrastive", "quadruplet"]

_BRANCHES: dict[str, tuple[Branch, ...]] = {
    "both": ("contrastive", "quadruplet"),
    "contrastive": ("contrastive",),
    "quadruplet": ("quadruplet",),
}
_KINDS: dict[str, tuple[Representation, ...]] = {
    "both": ("branch_concat", "semi", "quad"),
    "contrastive": ("semi",),
    "quadruplet": ("quad",),
}
_SWITCHES = (
    "contrastive_weight",
    "quadruplet_weight",
    "contrastive_form",
    "reduction",
    "graph_metric",
    "graph_pool",
    "unlabelled_from",
    "unlabelled_pairs",
    "unlabelled_negatives",
    "quadruplets_per_item",
)
NEIGHBOURS = 10
LEAST_LABELLED_SHARE = 0.3


class StagedCDMLMR(DeepMethod):
    """Two pathways over the base network's embeddings, under a semi-supervised contrastive and a quadruplet loss.

    L = w_s·L_semi + w_q·L_quad. L_semi pulls similar cross-modal pairs of a batch together and pushes dissimilar ones
    beyond the margin α: pairs of one class where both items are labelled, neighbours in the batch's own graph where
    not. L_quad asks of (a⁺, b⁺, a⁻, b⁻) that 2‖a⁺ − b⁺‖² stays β below ‖a⁺ − b⁻‖² + ‖a⁻ − b⁺‖².

    Paper: Huang and Peng, Cross-modal Deep Metric Learning with Multi-task Regularization, ICME 2017. Gaps in the paper
        are parameters; None lets validation choose. Changes, each with a switch: embeddings are standardised before and
        centred after the network, with training statistics; inputs are dropped at random; the learning rate is chosen.
        docs/explanation/methods/cdmlmr-staged.md has the reasons and the measurements.

    Args:
        losses: "both", or one of them for the ablations.
        members: number of base networks whose concatenated embeddings the pathways read; the paper has one.
        read_dbn: let the pathways read the DBNs' embeddings in addition to S; None does so only if the pairing of
            unlabelled items is known.
        contrastive_margin: α.
        quadruplet_margin: β.
        unlabelled_weight: λ_u, the weight of pairs with unlabelled items.
        rate: learning rate.
        representation: what is retrieved: "branch_concat", "branch_mean", "semi", "quad", or "trunk".
        centred: subtract the mean over the training items, which differs between modalities, from what is retrieved.
        dropout: share of the network's inputs dropped in training.
        contrastive_weight: w_s.
        quadruplet_weight: w_q.
        contrastive_form: "hadsell" or "eq5".
        reduction: "mean", "batch" or "sum".
        neighbours: k of the graph; None for 10, or for no graph if the pairing of the unlabelled items is known.
        graph_metric: "euclidean" or "cosine".
        graph_space: "raw" or "zscored" (standardised) embeddings of the base network.
        graph_pool: "batch" or "eligible".
        unlabelled_from: step from which unlabelled items are used.
        unlabelled_pairs: "any" or "both".
        unlabelled_negatives: "all" or "far_third".
        quadruplets_per_item: r.
        batch_size: n.
        labelled_share: share of labelled items in a batch; None for their share in the data, but at least 0.3.
        class_balanced: draw all classes equally often.
        activation: activation function of the pathways.
        share_branch_fc: whether modalities share the layers of the branches.
        input_norm: "zscore" or "none".
        bias_rate_multiplier: learning rate of biases relative to the weights'.
        clip_norm: largest norm of the gradients.
        profile: see `DeepMethod`.
        seed: see `DeepMethod`.
        device: see `DeepMethod`.
        cache: see `DeepMethod`.
    """

    uses_labels: ClassVar[bool] = True
    uses_unlabelled: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "X. Huang, Y. Peng. Cross-modal Deep Metric Learning with Multi-task Regularization. ICME 2017."
    )

    def __init__(
        self,
        losses: Losses = "both",
        members: int = 1,
        read_dbn: bool | None = None,
        contrastive_margin: float | None = None,
        quadruplet_margin: float | None = None,
        unlabelled_weight: float | None = None,
        rate: float | None = None,
        representation: Representation | None = None,
        centred: bool = True,
        dropout: float | None = None,
        contrastive_weight: float = 1.0,
        quadruplet_weight: float = 1.0,
        contrastive_form: ContrastiveForm = "hadsell",
        reduction: Reduction = "mean",
        neighbours: int | None = None,
        graph_metric: Metric = "euclidean",
        graph_space: str = "raw",
        graph_pool: str = "batch",
        unlabelled_from: int = 0,
        unlabelled_pairs: UnlabelledPairs = "any",
        unlabelled_negatives: UnlabelledNegatives = "all",
        quadruplets_per_item: int = 3,
        batch_size: int = 100,
        labelled_share: float | None = None,
        class_balanced: bool = False,
        activation: TrunkActivation = "relu",
        share_branch_fc: bool = False,
        input_norm: str = "zscore",
        bias_rate_multiplier: float = 1.0,
        clip_norm: float | None = None,
        profile: str = "standard",
        seed: int = 0,
        device: str = "auto",
        cache: str | None = "auto",
    ) -> None:
        super().__init__(profile, seed, device, cache)
        self.losses = losses
        self.members = members
        self.read_dbn = read_dbn
        self.contrastive_margin = contrastive_margin
        self.quadruplet_margin = quadruplet_margin
        self.unlabelled_weight = unlabelled_weight
        self.rate = rate
        self.representation = representation
        self.centred = centred
        self.dropout = dropout
        self.contrastive_weight = contrastive_weight
        self.quadruplet_weight = quadruplet_weight
        self.contrastive_form = contrastive_form
        self.reduction = reduction
        self.neighbours = neighbours
        self.graph_metric = graph_metric
        self.graph_space = graph_space
        self.graph_pool = graph_pool
        self.unlabelled_from = unlabelled_from
        self.unlabelled_pairs = unlabelled_pairs
        self.unlabelled_negatives = unlabelled_negatives
        self.quadruplets_per_item = quadruplets_per_item
        self.batch_size = batch_size
        self.labelled_share = labelled_share
        self.class_balanced = class_balanced
        self.activation = activation
        self.share_branch_fc = share_branch_fc
        self.input_norm = input_norm
        self.bias_rate_multiplier = bias_rate_multiplier
        self.clip_norm = clip_norm

    def _check(self) -> None:
        if self.losses not in _BRANCHES:
            raise ConfigError(f"losses is {self.losses!r}; choose one of {', '.join(_BRANCHES)}.")
        if self.members < 1:
            raise ConfigError(f"members is {self.members}; it must be at least 1.")
        for name, known in (("graph_space", ("raw", "zscored")), ("input_norm", ("zscore", "none"))):
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} is {getattr(self, name)!r}; choose one of {', '.join(known)}.")
        self._design(self.labelled_share, GRIDS["standard"]["rate"][0] if self.rate is None else self.rate).check()
        self._options(paired=False, values={})

    def saw(self, protocol: Protocol, data: TrainingData) -> str:
        """What this method's fit reads under a protocol, in a few words."""
        return super().saw(protocol, data if self._reads_pool else replace(data, pools={}))

    @property
    def _reads_pool(self) -> bool:
        return self.uses_unlabelled and self.losses != "quadruplet"

    def _train(self, context: StageContext) -> dict[str, Chain]:
        knows_pairs = self._reads_pool and context.data.unlabelled_pairs is not None
        with_dbn = knows_pairs if self.read_dbn is None else self.read_dbn
        data = metric_data(
            context,
            shared_embeddings(context, self.members, with_dbn=with_dbn),
            input_norm=self.input_norm,
            graph_space=self.graph_space,
            with_pool=self._reads_pool,
        )
        search = MetricSearch(lambda values: self._train_once(context, data, values), self._representations())
        trained, chosen = search.run(self._grid(context, data))
        self.record_["selection"] = search.search.trials if trained.scorer else []
        self.record_["failed_trials"] = search.failures
        self.record_["chosen"] = chosen
        self.record_["monitoring"] = {**monitoring(trained.history), "chance_purity": _chance_purity(data)}
        return trained.chains(chosen["representation"])

    def _train_once(self, context: StageContext, data: MetricData, values: Mapping[str, float]) -> TrainedPathways:
        design = self._design(self._labelled_share(data), values["rate"])
        return train_pathways(context, data, design, self._options(paired=data.paired, values=values))

    def _design(self, labelled_share: float | None, rate: float) -> MetricDesign:
        return MetricDesign(
            branches=_BRANCHES[self.losses],
            activation=self.activation,
            share_branch_fc=self.share_branch_fc,
            batch_size=self.batch_size,
            labelled_share=labelled_share,
            class_balanced=self.class_balanced,
            rate=rate,
            bias_rate_multiplier=self.bias_rate_multiplier,
            clip_norm=self.clip_norm,
            scored_by=self._representations()[0],
            centred=self.centred,
        )

    def _options(self, *, paired: bool, values: Mapping[str, float]) -> MetricOptions:
        """The losses with the values on trial; what the grid does not hold stays at its parameter or default."""
        defaults = MetricOptions()
        open_values = {
            name: values.get(name, getattr(defaults, name) if getattr(self, name) is None else getattr(self, name))
            for name in ("dropout", "contrastive_margin", "quadruplet_margin", "unlabelled_weight")
        }
        same = {name: getattr(self, name) for name in _SWITCHES}
        neighbours = (0 if paired else NEIGHBOURS) if self.neighbours is None else self.neighbours
        return MetricOptions(**open_values, **same, neighbours=neighbours)

    def _grid(self, context: StageContext, data: MetricData) -> Grid:
        """The values to try: those the user gave are fixed, and without validation the first of each decides."""
        grid = dict(GRIDS[context.profile.name])
        if self.contrastive_form == "eq5":  # whose margin is a squared distance
            grid["contrastive_margin"] = tuple(margin**2 for margin in grid["contrastive_margin"])
        if "contrastive" not in _BRANCHES[self.losses]:
            del grid["contrastive_margin"]
        if "quadruplet" not in _BRANCHES[self.losses]:
            del grid["quadruplet_margin"]
        if not any(data.pool.values()):
            del grid["unlabelled_weight"]
        validated = Validation.of(context.data) is not None
        for name, values in grid.items():
            given = getattr(self, name)
            grid[name] = (given,) if given is not None else values if validated else values[:1]
        return grid

    def _representations(self) -> tuple[Representation, ...]:
        if self.representation is not None:
            return (self.representation,)
        kinds = _KINDS[self.losses]
        return (*kinds, "trunk") if self.share_branch_fc else kinds

    def _labelled_share(self, data: MetricData) -> float | None:
        pool = max(data.pool.values())
        if self.labelled_share is not None or pool == 0:
            return self.labelled_share
        return max(LEAST_LABELLED_SHARE, len(data.labels) / (len(data.labels) + pool))


def _chance_purity(data: MetricData) -> float:
    """The share of same-class pairs among all labelled pairs: the purity of a random graph."""
    shares = np.bincount(data.labels) / len(data.labels)
    return float(np.square(shares).sum())
