"""The objective of CDMLMR's multi-task network: two losses over one batch, and the figures that show how it goes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor

from diptych._core.errors import ConfigError, FitError
from diptych.nets.dense import dropout
from diptych.nets.losses import (
    ContrastiveForm,
    Reduction,
    active_share,
    contrastive_terms,
    output_spread,
    pair_figures,
    quadruplet_terms,
    reduce_terms,
    squared_distances,
)
from diptych.nets.pathways import Pathways
from diptych.nets.rows import MixedBatch
from diptych.nets.samplers import (
    Metric,
    UnlabelledNegatives,
    UnlabelledPairs,
    balanced_pairs,
    edge_purity,
    graph_distances,
    neighbour_graph,
    sample_quadruplets,
    unlabelled_group,
)

Outputs = dict[str, dict[str, Tensor]]
"""The output of every branch, by modality and then by loss."""

MONITOR_EVERY = 10
"""Steps between two looks at the figures: they cost as much as the losses they are about."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "contrastive_form": get_args(ContrastiveForm),
    "reduction": get_args(Reduction),
    "graph_metric": get_args(Metric),
    "graph_pool": ("batch", "eligible"),
    "unlabelled_pairs": get_args(UnlabelledPairs),
    "unlabelled_negatives": get_args(UnlabelledNegatives),
}

_COLLAPSED = 1e-4
_GRACE_STEPS = 50


@dataclass(frozen=True)
class MetricOptions:
    """What the two losses leave open; the defaults are those of docs/explanation/methods/cdmlmr.md.

    Attributes:
        contrastive_margin: α.
        quadruplet_margin: β.
        contrastive_weight: of the contrastive loss in the total.
        quadruplet_weight: of the quadruplet loss in the total.
        contrastive_form: see `contrastive_terms`.
        reduction: see `reduce_terms`.
        neighbours: k of the online graph.
        graph_metric: its distance.
        graph_pool: "batch" searches neighbours in the whole batch, "eligible" only among pairs that the graph decides.
        unlabelled_weight: λ_u.
        unlabelled_from: the first step in which pairs with unlabelled items count.
        unlabelled_pairs: see `unlabelled_group`.
        unlabelled_negatives: see `balanced_pairs`.
        quadruplets_per_item: r.
        dropout: share of the network's inputs set to zero in training.
    """

    contrastive_margin: float = 5.0
    quadruplet_margin: float = 5.0
    contrastive_weight: float = 1.0
    quadruplet_weight: float = 1.0
    contrastive_form: ContrastiveForm = "hadsell"
    reduction: Reduction = "mean"
    neighbours: int = 10
    graph_metric: Metric = "euclidean"
    graph_pool: str = "batch"
    unlabelled_weight: float = 1.0
    unlabelled_from: int = 0
    unlabelled_pairs: UnlabelledPairs = "any"
    unlabelled_negatives: UnlabelledNegatives = "all"
    quadruplets_per_item: int = 3
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ConfigError(f"{name} is '{getattr(self, name)}'; choose one of {', '.join(known)}.")
        for name in ("contrastive_margin", "quadruplet_margin"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be above zero.")
        for name in ("contrastive_weight", "quadruplet_weight", "unlabelled_weight", "neighbours", "unlabelled_from"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be zero or more.")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dropout is {self.dropout}; it must be at least 0 and below 1.")
        if self.quadruplets_per_item < 1:
            raise ConfigError(f"quadruplets_per_item is {self.quadruplets_per_item}; it must be at least 1.")


@dataclass(frozen=True)
class MetricRows:
    """One modality's rows for the multi-task network.

    Attributes:
        labelled: what the net reads of the labelled documents, in the same order in every modality.
        unlabelled: what it reads of the unlabelled pool.
        labelled_embeddings: the same documents in the space where neighbours are sought.
        unlabelled_embeddings: the pool in that space.
    """

    labelled: Tensor
    unlabelled: Tensor
    labelled_embeddings: Tensor
    unlabelled_embeddings: Tensor

    def inputs(self, labelled: Tensor, unlabelled: Tensor) -> Tensor:
        """The net's input for one batch, labelled documents first."""
        return torch.cat([self.labelled[labelled], self.unlabelled[unlabelled]])

    def embeddings(self, labelled: Tensor, unlabelled: Tensor) -> Tensor:
        """The same rows in the graph's space."""
        return torch.cat([self.labelled_embeddings[labelled], self.unlabelled_embeddings[unlabelled]])


class MetricObjective:
    """Semi-supervised contrastive loss and quadruplet ranking loss, trained together (CDMLMR, Huang and Peng 2017).

    A loss whose branch the net lacks is left out: one branch gives the ablations.

    Args:
        net: two pathways with a branch for each loss.
        rows: the two modalities' rows.
        labels: classes of the labelled documents; nothing else about labels is ever known here.
        options: margins, weights and switches.
        paired: whether unlabelled rows of a batch stand beside their partners, which then belong together in both
            losses. Otherwise only the labelled part of a batch gives quadruplets.
    """

    def __init__(
        self,
        net: Pathways,
        rows: Mapping[str, MetricRows],
        labels: Tensor,
        options: MetricOptions,
        *,
        paired: bool = False,
    ) -> None:
        self.module = net
        self.rows = dict(rows)
        self.labels = labels
        self.options = options
        self.paired = paired
        self.encode: Callable[[dict[str, Tensor]], Outputs] = net.encode

    def __len__(self) -> int:
        return len(self.labels)

    def gradients(self, rows: MixedBatch, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Leave the gradients of the total loss of one batch; see `diptych.training.Objective`."""
        total, figures = self.losses(rows, step, random)
        total.backward()  # type: ignore[no-untyped-call]
        return figures

    def losses(self, rows: MixedBatch, step: int, random: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the total loss of one batch, and its parts with what there is to watch."""
        labels = self.labels[rows.labelled]
        chosen = {name: (rows.labelled, rows.unlabelled[name]) for name in self.rows}
        inputs = {name: self.rows[name].inputs(*chosen[name]) for name in self.rows}
        outputs = self.encode({name: dropout(x, self.options.dropout, random) for name, x in inputs.items()})
        watched = step % MONITOR_EVERY == 0
        parts: dict[str, Tensor] = {}
        figures: dict[str, Tensor] = {}
        total = torch.zeros((), device=labels.device)
        if "contrastive" in self.module.branches:
            embeddings = [self.rows[name].embeddings(*chosen[name]) for name in self.rows]
            first, second = (outputs[name]["contrastive"] for name in self.rows)
            parts["contrastive"], more = self._contrastive(
                first, second, embeddings, labels, step, random, watched=watched
            )
            figures |= more
            total = total + self.options.contrastive_weight * parts["contrastive"]
        if "quadruplet" in self.module.branches:
            first, second = (outputs[name]["quadruplet"] for name in self.rows)
            parts["quadruplet"], more = self._quadruplet(first, second, labels, step, random)
            figures |= more
            total = total + self.options.quadruplet_weight * parts["quadruplet"]
        if watched:
            figures["spread"] = require_spread(outputs, step)
        return total, {"loss": total.detach(), **{name: loss.detach() for name, loss in parts.items()}, **figures}

    def _contrastive(
        self,
        first: Tensor,
        second: Tensor,
        embeddings: list[Tensor],
        labels: Tensor,
        step: int,
        random: torch.Generator,
        *,
        watched: bool,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        options = self.options
        distances = graph_distances(embeddings[0], embeddings[1], options.graph_metric)
        group = unlabelled_group(distances, len(labels), options.unlabelled_pairs)
        graph = torch.zeros_like(group)
        if watched or distances.numel() > len(labels) ** 2:  # else no pair is the graph's to decide
            graph = neighbour_graph(distances, options.neighbours, group if options.graph_pool == "eligible" else None)
        selection = balanced_pairs(
            labels,
            graph,
            distances,
            random,
            unlabelled_weight=self._unlabelled_weight(step),
            unlabelled_pairs=options.unlabelled_pairs,
            unlabelled_negatives=options.unlabelled_negatives,
            known_pairs=self._partners(distances, len(labels)) if self.paired else None,
        )
        squared = squared_distances(first, second)
        terms = contrastive_terms(squared, selection.similar, options.contrastive_margin, options.contrastive_form)
        loss = reduce_terms(terms, selection.weights, options.reduction, len(first))
        if not watched:
            return loss, {}
        figures = pair_figures(squared, selection.similar, selection.weights, terms)
        return loss, {**figures, "edge_purity": edge_purity(graph, labels)}

    def _quadruplet(
        self, first: Tensor, second: Tensor, labels: Tensor, step: int, random: torch.Generator
    ) -> tuple[Tensor, dict[str, Tensor]]:
        if self.paired and self._unlabelled_weight(step) > 0:
            # An unlabelled document is a class of its own: its partner is all it is known to resemble.
            alone = torch.arange(len(first) - len(labels), device=labels.device)
            labels = torch.cat([labels, self.labels.max() + 1 + alone])
        drawn = sample_quadruplets(labels, self.options.quadruplets_per_item, random)
        terms = quadruplet_terms(first, second, drawn, self.options.quadruplet_margin)
        loss = reduce_terms(terms, None, self.options.reduction, len(first))
        return loss, {"active_quadruplets": active_share(terms)}

    def _unlabelled_weight(self, step: int) -> float:
        """What unlabelled items count in a step."""
        return self.options.unlabelled_weight if step >= self.options.unlabelled_from else 0.0

    def _partners(self, like: Tensor, labelled: int) -> Tensor:
        """The unlabelled documents' own pairs: the diagonal below the labelled part."""
        partners = torch.eye(*like.shape, dtype=torch.bool, device=like.device)
        partners[:labelled] = False
        return partners


def require_spread(outputs: Outputs, step: int) -> Tensor:
    """Return the smallest spread of any branch over the batch.

    Raises:
        FitError: if all embeddings of a branch have become one, which no later step would undo.
    """
    spread = torch.stack(
        [output_spread(embeddings) for branches in outputs.values() for embeddings in branches.values()]
    ).min()
    if step >= _GRACE_STEPS and float(spread) < _COLLAPSED:
        raise FitError(
            f"the embeddings collapsed to a single point by step {step + 1} (spread {float(spread):.1g}); "
            "a margin may be too small for dissimilar pairs to be pushed apart: raise contrastive_margin or "
            "quadruplet_margin, or lower the rate or unlabelled_weight."
        )
    return spread
