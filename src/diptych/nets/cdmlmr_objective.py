"""What the whole network of CDMLMR is trained by: both metric losses, softmax losses, and what unlabelled rows add."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from diptych._core.errors import ConfigError
from diptych.nets.cdmlmr import CdmlmrNetwork
from diptych.nets.dense import half_products
from diptych.nets.losses import (
    Quadruplets,
    active_share,
    have_several_classes,
    output_spread,
    pairs_of_one_class,
    soft_contrastive_loss,
    soft_cross_entropy,
    softmin_quadruplet_terms,
    softmin_triplet_terms,
    unit_squared_distances,
)
from diptych.nets.rows import MixedBatch, RowSource, mixup_share
from diptych.nets.samplers import Outputs, edge_purity, guessed_labels, sample_quadruplets, shared_graph

Negatives = Literal["softmin", "random"]

MONITOR_EVERY = 10
RECONSTRUCTION_WEIGHT = 0.1
RANDOM_QUADRUPLETS = 3


@dataclass(frozen=True)
class CdmlmrOptions:
    """What the losses leave open.

    Attributes:
        contrastive_margin: α, between outputs of length one.
        quadruplet_margin: β, a squared distance.
        triplet_margin: of the triplet loss, a squared distance.
        quadruplet_negatives: "softmin" weighs all mismatches of the batch, "random" draws them as the paper does.
        mixup: parameter of the Beta distribution by which two labelled rows are blended; 0 blends none.
        input_dropout: share of the features set to zero.
        dropout: share of the supervised nets' units set to zero.
        unlabelled_weight: what unlabelled rows count at the end of training.
        neighbours: k of the graph in the batch.
        ramp_steps: steps over which unlabelled rows come to count.
    """

    contrastive_margin: float = 1.2
    quadruplet_margin: float = 1.0
    triplet_margin: float = 0.5
    quadruplet_negatives: Negatives = "softmin"
    mixup: float = 0.4
    input_dropout: float = 0.2
    dropout: float = 0.3
    unlabelled_weight: float = 1.0
    neighbours: int = 10
    ramp_steps: int = 100

    def __post_init__(self) -> None:
        for name in ("contrastive_margin", "quadruplet_margin", "triplet_margin"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be above zero.")
        for name in ("mixup", "unlabelled_weight", "neighbours"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be zero or more.")
        for name in ("input_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 0 and below 1.")
        if self.quadruplet_negatives not in ("softmin", "random"):
            raise ConfigError(f"quadruplet_negatives is {self.quadruplet_negatives!r}; choose one of softmin, random.")


@dataclass(frozen=True)
class TowerRows:
    """One modality's training rows.

    Attributes:
        labelled: scaled features of the labelled documents, in the same order in every modality.
        unlabelled: those of the unlabelled pool.
        visible: what the DBN reads of the same two, where that is not the scaled features.
    """

    labelled: RowSource
    unlabelled: RowSource
    visible: tuple[RowSource, RowSource] | None = None


class CdmlmrObjective:
    """Softmax, contrastive, quadruplet and reconstruction losses of all members, added up.

    Unlabelled rows take part through labels that the network guesses and the batch's own neighbour graph smooths:
    their pairs are pulled along the graph's edges and pushed elsewhere, as much as the guesses agree, and every
    softmax is trained towards the smoothed guess. A loss whose branch the net lacks is left out.

    Args:
        net: the network.
        rows: each modality's training rows.
        targets: the labelled documents' class probabilities; one-hot where labels are certain.
        options: margins, weights and switches.
        paired: whether unlabelled rows of a batch stand beside their partners, which then share one guess.
    """

    def __init__(
        self,
        net: CdmlmrNetwork,
        rows: Mapping[str, TowerRows],
        targets: Tensor,
        options: CdmlmrOptions,
        *,
        paired: bool = False,
    ) -> None:
        self.module = net
        self.rows = dict(rows)
        self.targets = targets
        self.options = options
        self.paired = paired
        self.several = have_several_classes(targets)
        self.encode: Callable[[dict[str, Tensor]], Outputs] = self._encode

    def __len__(self) -> int:
        return len(self.targets)

    def gradients(self, rows: MixedBatch, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Leave the gradients of the total loss of one batch; see `diptych.training.Objective`."""
        total, figures = self.losses(rows, step, random)
        total.backward()  # type: ignore[no-untyped-call]
        return figures

    def losses(self, rows: MixedBatch, step: int, random: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of one batch, summed over members, and its parts averaged over them."""
        inputs, targets = self._inputs(rows, random)
        encoded = self.encode(inputs)
        outputs = {m: {name: part.transpose(0, 1) for name, part in parts.items()} for m, parts in encoded.items()}
        known = len(targets)
        pool = any(len(numbers) for numbers in rows.unlabelled.values())
        weight = self._unlabelled_weight(step) if pool else 0.0
        watched = step % MONITOR_EVERY == 0
        graph = shared_graph(outputs, self.options.neighbours) if weight > 0 or watched else None
        labels = dict.fromkeys(outputs, targets)
        if pool:
            labels = guessed_labels(outputs, targets, graph, paired=self.paired)
        parts = {"softmax": self._softmax(outputs, labels, known, weight)}
        parts["reconstruction"] = RECONSTRUCTION_WEIGHT * self._reconstruction(outputs, known, weight)
        figures: dict[str, Tensor] = {}
        branches = self.module.shape.branches
        if "contrastive" in branches:
            parts["contrastive"] = self._contrastive(outputs, labels, known, graph, weight)
        for branch in ("quadruplet", "triplet"):
            if branch in branches:
                parts[branch], terms = self._ranking(outputs, branch, targets, random)
                figures[f"active_{branch}s"] = active_share(terms)
        if watched and branches:
            figures |= _watched(outputs, branches[0], targets, graph)
        totals = {name: part.sum() for name, part in parts.items()}
        total = torch.stack(list(totals.values())).sum()
        members = self.module.shape.members
        reported = {"loss": total.detach() / members}
        return total, reported | {name: part.detach() / members for name, part in totals.items()} | figures

    def _encode(self, inputs: dict[str, Tensor]) -> Outputs:
        """Encode rows of every modality; rows come first in all that is returned, members second."""
        outputs: Outputs = {}
        for name in self.module.modalities:
            features = inputs[name]
            kept = inputs.get(f"{name} kept")
            with half_products(features):
                encoded = self.module.encode(
                    name,
                    features,
                    inputs.get(f"{name} visible", features),
                    None if kept is None else kept.permute(1, 2, 0, 3),
                )
            outputs[name] = {key: part.transpose(0, 1).to(features.dtype) for key, part in encoded.items()}
        return outputs

    def _inputs(self, rows: MixedBatch, random: torch.Generator) -> tuple[dict[str, Tensor], Tensor]:
        """The batch's rows after mixup and dropout, and the labelled rows' blended targets."""
        targets, inputs = self.targets[rows.labelled], dict[str, Tensor]()
        share, partner = 1.0, None
        if self.options.mixup > 0 and len(targets) > 1:
            partner = torch.randperm(len(targets), generator=random, device=targets.device)
            share = mixup_share(self.options.mixup, random)
            targets = targets.lerp(targets[partner], 1.0 - share)

        def blended(known: Tensor, unknown: Tensor) -> Tensor:
            known = known if partner is None else known.lerp(known[partner], 1.0 - share)
            return torch.cat([known, unknown]) if len(unknown) else known

        shape = self.module.shape
        for name, source in self.rows.items():
            numbers = rows.unlabelled.get(name, rows.labelled[:0])
            features = blended(source.labelled[rows.labelled], source.unlabelled[numbers])
            inputs[name] = features * _kept(features.shape, self.options.input_dropout, features, random)
            if source.visible is not None:
                visible = blended(source.visible[0][rows.labelled], source.visible[1][numbers])
                inputs[f"{name} visible"] = visible * _kept(visible.shape, self.options.input_dropout, visible, random)
            if self.options.dropout > 0:
                sizes = (len(features), 3, shape.members, shape.width)
                inputs[f"{name} kept"] = _kept(sizes, self.options.dropout, features, random)
        return inputs, targets

    def _unlabelled_weight(self, step: int) -> float:
        return self.options.unlabelled_weight * min(1.0, step / max(1, self.options.ramp_steps))

    def _softmax(self, outputs: Outputs, labels: Mapping[str, Tensor], known: int, weight: float) -> Tensor:
        """The softmax losses of every head, those of one modality in one go."""
        losses = []
        for name, parts in outputs.items():
            logits = torch.stack([part for key, part in parts.items() if key.endswith(" classes")])
            losses.append(soft_cross_entropy(logits[:, :, :known], labels[name][:known]).sum(0))
            guesses = labels[name][known:]
            if weight > 0 and len(guesses):
                certain = soft_cross_entropy(logits[:, :, known:], guesses, guesses.amax(1))
                losses.append(weight * certain.sum(0))
        return torch.stack(losses).sum(0)

    def _reconstruction(self, outputs: Outputs, known: int, weight: float) -> Tensor:
        """How far every S is from telling the nets' embeddings of the same documents, its own and the partner's.

        Unlabelled rows have their own embedding to tell, and their partner's only where they stand beside it.
        """
        errors = []
        for name, parts in outputs.items():
            for other, target in outputs.items():
                rows = None if weight > 0 and (other == name or self.paired) else known
                told = parts[f"to {other}"][:, :rows] - target["hidden"][:, :rows].detach()
                errors.append(told.square().mean((1, 2)))
        return torch.stack(errors).sum(0)

    def _contrastive(
        self, outputs: Outputs, labels: Mapping[str, Tensor], known: int, graph: Tensor | None, weight: float
    ) -> Tensor:
        first, second = (parts["contrastive"] for parts in outputs.values())
        one, other = labels.values()
        if weight == 0:
            first, second, one, other = first[:, :known], second[:, :known], one[:known], other[:known]
        similar = one @ other.t()
        pull, push = similar, 1.0 - similar
        if weight > 0 and graph is not None:
            guessed = torch.ones_like(graph)
            guessed[:known, :known] = False
            pull = torch.where(guessed, weight * pull * graph, pull)
            push = torch.where(guessed, weight * push * ~graph, push)
        squared = unit_squared_distances(first, second)
        return soft_contrastive_loss(squared, pull, push, self.options.contrastive_margin)

    def _ranking(self, outputs: Outputs, branch: str, targets: Tensor, random: torch.Generator) -> list[Tensor]:
        """Return the quadruplet or triplet loss of labelled rows, and its terms."""
        squared = unit_squared_distances(*(parts[branch][:, : len(targets)] for parts in outputs.values()))
        same = pairs_of_one_class(targets, several=self.several)
        whole = branch == "quadruplet"
        margin = self.options.quadruplet_margin if whole else self.options.triplet_margin
        if self.options.quadruplet_negatives == "softmin":
            softmin = softmin_quadruplet_terms if whole else softmin_triplet_terms
            terms = softmin(squared, same, ~same, margin)
            return [terms.sum((1, 2)) / same.sum().clamp_min(1), terms[:, same]]
        drawn: Quadruplets = sample_quadruplets(targets.argmax(1), RANDOM_QUADRUPLETS, random)
        together = squared[:, drawn.first_positive, drawn.second_positive]
        from_first = squared[:, drawn.first_positive, drawn.second_negative]
        from_second = squared[:, drawn.first_negative, drawn.second_positive]
        if whole:
            terms = (2.0 * together - (from_first + from_second) + margin).clamp_min(0.0)
        else:
            terms = (together - from_first + margin).clamp_min(0.0) + (together - from_second + margin).clamp_min(0.0)
        return [terms.sum(1) / max(1, terms.shape[1]), terms]


def _watched(outputs: Outputs, branch: str, targets: Tensor, graph: Tensor | None) -> dict[str, Tensor]:
    """Mean distances of labelled pairs, the graph's purity, and how far embeddings are from being all alike."""
    known, classes = len(targets), targets.argmax(1)
    first, second = (parts[branch].detach()[:, :known] for parts in outputs.values())
    distance = unit_squared_distances(first, second).sqrt().mean(0)
    same = classes.unsqueeze(1) == classes.unsqueeze(0)
    spread = torch.stack([output_spread(parts[branch].flatten(0, 1)) for parts in outputs.values()]).min()
    figures = {
        "similar_distance": distance[same].mean(),
        "dissimilar_distance": distance[~same].mean(),
        "spread": spread,
    }
    return figures if graph is None else figures | {"edge_purity": edge_purity(graph, classes)}


def _kept(shape: torch.Size | tuple[int, ...], share: float, like: Tensor, random: torch.Generator) -> Tensor:
    """What units are multiplied by when a share of them is dropped and the others make up for it."""
    if share == 0:
        return like.new_ones(1)
    drawn = torch.rand(shape, generator=random, dtype=like.dtype, device=like.device)
    return (drawn >= share).to(like.dtype).mul_(1.0 / (1.0 - share))
