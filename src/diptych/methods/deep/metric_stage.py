"""Stage four: the multi-task network on frozen shallow codes, and what is left of it for retrieval."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from diptych._core.arrays import Features, Singles
from diptych._core.state import stateful
from diptych.methods.deep.layers import Chain, DenseLayer
from diptych.methods.deep.metric_rows import MetricData
from diptych.methods.deep.profile import PUBLISHED
from diptych.methods.deep.retrieval_judge import RetrievalJudge, retrieval_judge
from diptych.methods.deep.workshop import Workshop, frozen, frozen_layer
from diptych.nets.dense import activation_function
from diptych.nets.metric_learning import MetricObjective, MetricOptions
from diptych.nets.mixed_batch import MixedBatches
from diptych.nets.pathways import (
    Branch,
    Pathways,
    Representation,
    TrunkActivation,
    representation,
    require_comparable,
)
from diptych.training import Constant, History, LoopSettings

PATIENCE = 3
"""Validations without improvement after which training stops: it is done once for every value on trial."""


@dataclass(frozen=True)
class MetricDesign:
    """The network and its batches, apart from what the losses leave open.

    Attributes:
        branches: the losses trained.
        activation: of the trunks.
        share_branch_fc: whether modalities share the layer of a branch.
        batch_size: items of one modality in a batch.
        labelled_share: share of labelled documents in it; None for that of the pools.
        class_balanced: show all classes equally often.
        rate: learning rate.
        bias_rate_multiplier: learning rate of biases, relative to the weights'.
        clip_norm: largest norm of the gradients; None for no limit.
        judged_by: the representation whose validation score decides which weights are kept.
        centred: whether representations are retrieved without their mean over the training items.
    """

    branches: tuple[Branch, ...]
    activation: TrunkActivation
    share_branch_fc: bool
    batch_size: int
    labelled_share: float | None
    class_balanced: bool
    rate: float
    bias_rate_multiplier: float
    clip_norm: float | None
    judged_by: Representation
    centred: bool

    def check(self) -> None:
        """Refuse what cannot be trained, before anything is.

        Raises:
            ConfigError: for a value that is unknown or out of range.
        """
        activation_function(self.activation)
        require_comparable(self.judged_by, self.share_branch_fc)
        nothing = torch.zeros(1, 1)
        representation(self.judged_by, dict.fromkeys(self.branches, nothing), nothing)
        MixedBatches(1, {}, self.batch_size, 0, labelled_share=self.labelled_share)
        self.settings(PUBLISHED["metric"]).check()

    def settings(self, base: LoopSettings) -> LoopSettings:
        """The settings of the stage: those of its profile with what is decided here."""
        return replace(
            base,
            rate=Constant(self.rate),
            batch_size=self.batch_size,
            bias_rate_multiplier=self.bias_rate_multiplier,
            clip_norm=self.clip_norm,
            patience=base.patience and min(base.patience, PATIENCE),
        )


@stateful
@dataclass(frozen=True)
class BranchOutputs:
    """The last frozen step: the branches' outputs put together, less their mean over the training items.

    Attributes:
        branches: the sigmoid layers that take part.
        combine: "concat", "mean" or "single", see `diptych.nets.pathways.representation`.
        centre: what is subtracted.
    """

    branches: tuple[DenseLayer, ...]
    combine: str
    centre: Singles

    def __call__(self, rows: Features) -> Singles:
        """Represent the outputs of a trunk."""
        outputs = [branch(rows) for branch in self.branches]
        if self.combine != "single":
            outputs = [each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in outputs]
        together = np.mean(outputs, axis=0) if self.combine == "mean" else np.concatenate(outputs, axis=1)
        return np.asarray(together - self.centre, dtype=np.float32)


@stateful
@dataclass(frozen=True)
class Centred:
    """Rows less a fixed row."""

    centre: Singles

    def __call__(self, rows: Features) -> Singles:
        """Subtract it."""
        return np.asarray(np.asarray(rows) - self.centre, dtype=np.float32)


class TrainedPathways:
    """A trained network with the means of its training outputs: scores itself on validation, and can be frozen."""

    def __init__(
        self, shop: Workshop, data: MetricData, net: Pathways, *, judged_by: Representation, centred: bool
    ) -> None:
        self.net = net
        self.data = data
        self.centred = centred
        self.history = History("")
        self._training = {name: shop.tensor(values) for name, values in data.training.items()}
        self._kind = judged_by
        self.judge: RetrievalJudge | None = retrieval_judge(shop, data.chains, self.code)

    def code(self, modality: str, rows: torch.Tensor) -> torch.Tensor:
        """Represent rows as they would be retrieved now."""
        # The rows stay where training ran, the trained network does not.
        return self.net.represent(modality, rows.to(self._device), self._kind) - self._centre(modality)

    @torch.no_grad()
    def score(self, kind: Representation) -> float:
        """The validation score of one representation; 0 without validation."""
        self._kind = kind
        self.net.eval()
        return self.judge() if self.judge is not None else 0.0

    @torch.no_grad()
    def chains(self, kind: Representation) -> dict[str, Chain]:
        """Each modality's way from stored rows to what is retrieved."""
        self._kind = kind
        self.net.cpu().eval()
        self._training = {name: rows.cpu() for name, rows in self._training.items()}
        return {name: (*self.data.chains[name], *self._frozen(name, kind)) for name in self.net.modalities}

    def _frozen(self, modality: str, kind: Representation) -> Chain:
        trunk = tuple(frozen_layer(layer, self.net.activation) for layer in self.net.trunk_layers(modality))
        centre = frozen(self._centre(modality))
        if kind == "trunk":
            return (*trunk, Centred(centre))
        single = {"semi": "contrastive", "quad": "quadruplet"}.get(kind)
        chosen = [layer for name, layer in self.net.branch_layers(modality).items() if single in (None, name)]
        combine = "single" if single else "mean" if kind == "branch_mean" else "concat"
        return (*trunk, BranchOutputs(tuple(frozen_layer(layer, "sigmoid") for layer in chosen), combine, centre))

    def _centre(self, modality: str) -> torch.Tensor:
        represented = self.net.represent(modality, self._training[modality].to(self._device), self._kind)
        return represented.mean(0) if self.centred else torch.zeros_like(represented[0])

    @property
    def _device(self) -> torch.device:
        return next(self.net.parameters()).device


def train_pathways(shop: Workshop, data: MetricData, design: MetricDesign, options: MetricOptions) -> TrainedPathways:
    """Train one network; with validation, keep the weights that retrieve best there."""
    net = Pathways(
        {name: values.shape[1] for name, values in data.training.items()},
        shop.random("pathways"),
        branches=design.branches,
        widths=(shop.profile.pathway_width,) * 3,
        branch_width=shop.profile.pathway_width,
        activation=design.activation,
        share_branch_fc=design.share_branch_fc,
    )
    trained = TrainedPathways(shop, data, net, judged_by=design.judged_by, centred=design.centred)
    objective = MetricObjective(net, data.rows, shop.tensor(data.labels), options, paired=data.paired)
    batches = MixedBatches(
        len(data.labels),
        data.pool,
        design.batch_size,
        shop.seed,
        balanced_by=data.labels if design.class_balanced else None,
        labelled_share=design.labelled_share,
        paired=data.paired,
    )
    stage = shop.train(
        _title(design, options),
        objective,
        design.settings(shop.settings("metric")),
        inputs={
            **data.arrays,
            **{f"training {name}": values for name, values in data.training.items()},
            "labels": data.labels[:, None],
            **(trained.judge.inputs if trained.judge else {}),
        },
        options={**asdict(design), **asdict(options), "paired": data.paired},
        upstream=data.upstream,
        batches=batches,
        validate=trained.judge,
    )
    trained.history = stage.history
    return trained


def _title(design: MetricDesign, options: MetricOptions) -> str:
    parts = [f"rate {design.rate:g}, dropout {options.dropout:g}"]
    if "contrastive" in design.branches:
        parts.append(f"α {options.contrastive_margin:g}, λ {options.unlabelled_weight:g}")
    if "quadruplet" in design.branches:
        parts.append(f"β {options.quadruplet_margin:g}")
    return f"multi-task network ({', '.join(parts)})"


def monitoring(history: History) -> Mapping[str, Any]:
    """What was watched while a network trained, for the model's record; a figure that was not a number is None."""
    content = history.to_json()
    return {name: content[name] for name in ("rows", "validations", "steps", "best_step", "best_score")}
