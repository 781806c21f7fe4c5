"""Train the multi-task network on frozen embeddings, and choose on validation what the paper leaves open about it."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import torch

from diptych._core.errors import FitError
from diptych.methods.deep.deep_method import StageContext, ValidationScorer, frozen, frozen_layer, validation_scorer
from diptych.methods.deep.layers import BranchOutputs, Centred, Chain
from diptych.methods.deep.metric_design import MetricData, MetricDesign
from diptych.methods.selection import Search
from diptych.nets.metric_learning import MetricObjective, MetricOptions
from diptych.nets.pathways import Pathways, Representation
from diptych.nets.rows import MixedBatches
from diptych.training import History

Grid = Mapping[str, tuple[float, ...]]
"""Values to try by name; the first is where the search begins."""

GRIDS: Mapping[str, Grid] = {
    "fast": {
        "rate": (0.01,),
        "dropout": (0.0,),
        "contrastive_margin": (5.0,),
        "quadruplet_margin": (5.0,),
        "unlabelled_weight": (1.0,),
    },
    "standard": {
        "rate": (0.001, 0.01),
        "dropout": (0.0, 0.5),
        "contrastive_margin": (5.0, 8.0),
        "quadruplet_margin": (5.0, 20.0),
        "unlabelled_weight": (1.0, 0.1),
    },
    "paper": {
        "rate": (0.001,),
        "dropout": (0.0,),
        "contrastive_margin": (5.0, 1.0, 2.0, 8.0),
        "quadruplet_margin": (5.0, 1.0, 10.0, 20.0),
        "unlabelled_weight": (1.0, 0.1, 0.3),
    },
}


class TrainedPathways:
    """A trained network with the means of its training outputs: scores itself on validation, and can be frozen."""

    def __init__(
        self, context: StageContext, data: MetricData, net: Pathways, *, scored_by: Representation, centred: bool
    ) -> None:
        self.net = net
        self.data = data
        self.centred = centred
        self.history = History("")
        self._training = {name: context.tensor(values) for name, values in data.training.items()}
        self._kind = scored_by
        self.scorer: ValidationScorer | None = validation_scorer(context, data.chains, self.embed)

    def embed(self, modality: str, rows: torch.Tensor) -> torch.Tensor:
        """Represent rows as they would be retrieved now."""
        # The rows stay where training ran, the trained network does not.
        return self.net.represent(modality, rows.to(self._device), self._kind) - self._centre(modality)

    @torch.no_grad()
    def score(self, kind: Representation) -> float:
        """The validation score of one representation; 0 without validation."""
        self._kind = kind
        self.net.eval()
        return self.scorer() if self.scorer is not None else 0.0

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


def train_pathways(
    context: StageContext, data: MetricData, design: MetricDesign, options: MetricOptions
) -> TrainedPathways:
    """Train one network; with validation, keep the weights that retrieve best there."""
    net = Pathways(
        {name: values.shape[1] for name, values in data.training.items()},
        context.random("pathways"),
        branches=design.branches,
        widths=(context.profile.pathway_width,) * 3,
        branch_width=context.profile.pathway_width,
        activation=design.activation,
        share_branch_fc=design.share_branch_fc,
    )
    trained = TrainedPathways(context, data, net, scored_by=design.scored_by, centred=design.centred)
    objective = MetricObjective(net, data.rows, context.tensor(data.labels), options, paired=data.paired)
    batches = MixedBatches(
        len(data.labels),
        data.pool,
        design.batch_size,
        context.seed,
        balanced_by=data.labels if design.class_balanced else None,
        labelled_share=design.labelled_share,
        paired=data.paired,
    )
    stage = context.train(
        _title(design, options),
        objective,
        design.settings(context.settings("metric")),
        inputs={
            **data.arrays,
            **{f"training {name}": values for name, values in data.training.items()},
            "labels": data.labels[:, None],
            **(trained.scorer.inputs if trained.scorer else {}),
        },
        options={**asdict(design), **asdict(options), "paired": data.paired},
        upstream=data.upstream,
        batches=batches,
        validate=trained.scorer,
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


TrainOnce = Callable[[Mapping[str, float]], TrainedPathways]


class MetricSearch:
    """Search one parameter after the other, keeping the best value of each, instead of the whole grid.

    Args:
        train_once: trains a network with values of the grid.
        representations: what may be retrieved; each trained network is scored with all of them.

    Attributes:
        search: the values tried and their scores.
        failures: the values that could not be trained, and why.
        best: the best network so far and its representation.
    """

    def __init__(self, train_once: TrainOnce, representations: tuple[Representation, ...]) -> None:
        self._train_once = train_once
        self._representations = representations
        self.search = Search()
        self.failures: list[dict[str, Any]] = []
        self.best: tuple[TrainedPathways, Representation] | None = None

    def run(self, grid: Grid) -> tuple[TrainedPathways, dict[str, Any]]:
        """Return the best network and the values that made it, its representation among them."""
        self._try({name: values[0] for name, values in grid.items()})
        for name, values in grid.items():
            for value in values[1:]:
                self._try({**self._chosen(grid), name: value})
        if self.best is None:
            reason = self.failures[0]["reason"]
            raise FitError(f"no setting of the multi-task network could be trained; the first failed so: {reason}")
        return self.best[0], self.search.best

    def _chosen(self, grid: Grid) -> dict[str, float]:
        if not self.search.trials:
            return {name: values[0] for name, values in grid.items()}
        return {name: self.search.best[name] for name in grid}

    def _try(self, values: Mapping[str, float]) -> None:
        try:
            trained = self._train_once(values)
        except FitError as error:  # a margin that lets the embeddings collapse is a bad value, not the end
            self.failures.append({"params": dict(values), "reason": str(error)})
            return
        for kind in self._representations:
            if self.search.add({**values, "representation": kind}, trained.score(kind)):
                self.best = trained, kind
