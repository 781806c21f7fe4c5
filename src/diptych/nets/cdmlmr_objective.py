"""What the whole network of CDMLMR is trained by: both metric losses, softmax losses, and what unlabelled rows add."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import torch
from torch import Tensor

from diptych.nets.cdmlmr import CdmlmrNetwork, CdmlmrOptions
from diptych.nets.cdmlmr_batch import BatchRows, Noise, TowerRows, batch_inputs
from diptych.nets.dense import half_products
from diptych.nets.losses import (
    Quadruplets,
    active_share,
    have_several_classes,
    output_spread,
    pairs_of_one_class,
    sign_gap,
    soft_contrastive_loss,
    soft_cross_entropy,
    softmin_quadruplet_terms,
    softmin_triplet_terms,
    unit_squared_distances,
)
from diptych.nets.rows import MixedBatch
from diptych.nets.samplers import Outputs, edge_purity, guessed_labels, sample_quadruplets, shared_graph

Pair = tuple[str, str]
Batch = Mapping[str, BatchRows]

MONITOR_EVERY = 10
RECONSTRUCTION_WEIGHT = 0.1
RANDOM_QUADRUPLETS = 3


class CdmlmrObjective:
    """Softmax, contrastive, quadruplet and reconstruction losses of all members, added up over pairs of modalities.

    Unlabelled rows take part through labels that the network guesses and the batch's own neighbour graph smooths:
    their pairs are pulled along the graph's edges and pushed elsewhere, as much as the guesses agree, and every
    softmax is trained towards the smoothed guess. A loss whose branch the net lacks is left out.

    Args:
        net: the network.
        rows: each modality's training rows.
        targets: the labelled documents' class probabilities; one-hot where labels are certain.
        options: margins, weights and switches.
        paired: whether unlabelled rows of a batch are drawn as documents, whose rows then share one guess.
        pairs: the modalities that occur together, two at a time: over these the losses between modalities are summed.
            None for all.
    """

    def __init__(
        self,
        net: CdmlmrNetwork,
        rows: Mapping[str, TowerRows],
        targets: Tensor,
        options: CdmlmrOptions,
        *,
        paired: bool = False,
        pairs: Sequence[Pair] | None = None,
    ) -> None:
        self.module = net
        self.rows = dict(rows)
        self.pairs = list(combinations(self.rows, 2) if pairs is None else pairs)
        self.complete = all(each.labelled_rows is None and each.unlabelled_rows is None for each in rows.values())
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
        inputs, batch = self._inputs(rows, random)
        encoded = self.encode(inputs)
        outputs = {m: {name: part.transpose(0, 1) for name, part in parts.items()} for m, parts in encoded.items()}
        pool = any(len(numbers) for numbers in rows.unlabelled.values())
        weight = self._unlabelled_weight(step) if pool else 0.0
        watched = step % MONITOR_EVERY == 0
        pairs = [(a, b) for a, b in self.pairs if len(batch[a].documents) and len(batch[b].documents)]
        graphs: dict[Pair, Tensor] = {}
        if weight > 0 or watched:
            graphs = {(a, b): shared_graph(outputs[a], outputs[b], self.options.neighbours) for a, b in pairs}
        labels = {name: each.targets for name, each in batch.items()}
        if pool:
            numbers = {name: each.documents[each.known :] - len(rows.labelled) for name, each in batch.items()}
            labels = guessed_labels(outputs, labels, graphs, documents=numbers if self.paired else None)
        parts = {"softmax": self._softmax(outputs, labels, batch, weight)}
        parts["reconstruction"] = RECONSTRUCTION_WEIGHT * self._reconstruction(outputs, batch, weight)
        figures: dict[str, Tensor] = {}
        branches = self.module.shape.branches
        pairs = [(a, b) for a, b in pairs if batch[a].known and batch[b].known]
        if "contrastive" in branches:
            terms = [self._contrastive(outputs, labels, batch, pair, graphs.get(pair), weight) for pair in pairs]
            parts["contrastive"] = self._summed(terms)
        for branch in ("quadruplet", "triplet"):
            if branch in branches:
                ranked = [self._ranking(outputs, branch, batch, pair, random) for pair in pairs]
                parts[branch] = self._summed([loss for loss, _ in ranked])
                figures[f"active_{branch}s"] = active_share(torch.cat([terms.flatten() for _, terms in ranked]))
        if self.options.quantisation > 0 and branches:
            gaps = [sign_gap(parts[branch]) for parts in outputs.values() for branch in branches]
            parts["quantisation"] = self.options.quantisation * self._summed(gaps)
        if watched and branches:
            figures |= _watched(outputs, branches[0], batch, graphs, pairs)
        totals = {name: part.sum() for name, part in parts.items()}
        total = torch.stack(list(totals.values())).sum()
        members = self.module.shape.members
        reported = {"loss": total.detach() / members}
        return total, reported | {name: part.detach() / members for name, part in totals.items()} | figures

    def _summed(self, terms: Sequence[Tensor]) -> Tensor:
        """The sum over pairs of modalities of every member's loss; zero where a batch has none of them."""
        return torch.stack(list(terms)).sum(0) if terms else self.targets.new_zeros(self.module.shape.members)

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

    def _inputs(self, rows: MixedBatch, random: torch.Generator) -> tuple[dict[str, Tensor], Batch]:
        """What the network reads of a batch, and what is known of its rows."""
        options, shape = self.options, self.module.shape
        noise = Noise(options.mixup, options.input_dropout, options.dropout, (shape.members, shape.width))
        return batch_inputs(self.rows, self.targets, rows, noise, random, paired=self.paired)

    def _unlabelled_weight(self, step: int) -> float:
        return self.options.unlabelled_weight * min(1.0, step / max(1, self.options.ramp_steps))

    def _softmax(self, outputs: Outputs, labels: Mapping[str, Tensor], batch: Batch, weight: float) -> Tensor:
        """The softmax losses of every head, those of one modality in one go."""
        losses = []
        for name, parts in outputs.items():
            known = batch[name].known
            logits = torch.stack([part for key, part in parts.items() if key.endswith(" classes")])
            if known:
                losses.append(soft_cross_entropy(logits[:, :, :known], labels[name][:known]).sum(0))
            guesses = labels[name][known:]
            if weight > 0 and len(guesses):
                certain = soft_cross_entropy(logits[:, :, known:], guesses, guesses.amax(1))
                losses.append(weight * certain.sum(0))
        return torch.stack(losses).sum(0)

    def _reconstruction(self, outputs: Outputs, batch: Batch, weight: float) -> Tensor:
        """How far every S is from telling the nets' embeddings of the same documents, its own and the partners'.

        Unlabelled rows have their own embedding to tell, and a partner's only where they stand beside it.
        """
        errors = []
        for name, parts in outputs.items():
            for other, target in outputs.items():
                whole = weight > 0 and (other == name or self.paired)
                rebuilt, hidden = parts[f"to {other}"], target["hidden"].detach()
                if other == name or self.complete:
                    rows = None if whole else batch[name].known
                    rebuilt, hidden = rebuilt[:, :rows], hidden[:, :rows]
                else:
                    mine, theirs = batch[name].same_documents(batch[other], labelled=not whole)
                    rebuilt, hidden = rebuilt[:, mine], hidden[:, theirs]
                if rebuilt.shape[1]:
                    errors.append((rebuilt - hidden).square().mean((1, 2)))
        return torch.stack(errors).sum(0)

    def _contrastive(
        self,
        outputs: Outputs,
        labels: Mapping[str, Tensor],
        batch: Batch,
        pair: Pair,
        graph: Tensor | None,
        weight: float,
    ) -> Tensor:
        first, second = (outputs[name]["contrastive"] for name in pair)
        one, other = (labels[name] for name in pair)
        known, known_other = (batch[name].known for name in pair)
        if weight == 0:
            first, second, one, other = first[:, :known], second[:, :known_other], one[:known], other[:known_other]
        similar = one @ other.t()
        pull, push = similar, 1.0 - similar
        if weight > 0 and graph is not None:
            guessed = torch.ones_like(graph)
            guessed[:known, :known_other] = False
            pull = torch.where(guessed, weight * pull * graph, pull)
            push = torch.where(guessed, weight * push * ~graph, push)
        squared = unit_squared_distances(first, second)
        return soft_contrastive_loss(squared, pull, push, self.options.contrastive_margin)

    def _ranking(
        self, outputs: Outputs, branch: str, batch: Batch, pair: Pair, random: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return the quadruplet or triplet loss of labelled rows of two modalities, and its terms."""
        first, second = (outputs[name][branch][:, : batch[name].known] for name in pair)
        one, other = (batch[name].targets for name in pair)
        whole = branch == "quadruplet"
        margin = self.options.quadruplet_margin if whole else self.options.triplet_margin
        if self.options.quadruplet_negatives == "softmin":
            squared = unit_squared_distances(first, second)
            same = pairs_of_one_class(one, other, several=self.several)
            softmin = softmin_quadruplet_terms if whole else softmin_triplet_terms
            terms = softmin(squared, same, ~same, margin)
            return terms.sum((1, 2)) / same.sum().clamp_min(1), terms[:, same]
        if not self.complete:  # quadruplets are drawn among documents
            mine, theirs = batch[pair[0]].same_documents(batch[pair[1]], labelled=True)
            first, second, one = first[:, mine], second[:, theirs], one[mine]
        squared = unit_squared_distances(first, second)
        drawn: Quadruplets = sample_quadruplets(one.argmax(1), RANDOM_QUADRUPLETS, random)
        together = squared[:, drawn.first_positive, drawn.second_positive]
        from_first = squared[:, drawn.first_positive, drawn.second_negative]
        from_second = squared[:, drawn.first_negative, drawn.second_positive]
        if whole:
            terms = (2.0 * together - (from_first + from_second) + margin).clamp_min(0.0)
        else:
            terms = (together - from_first + margin).clamp_min(0.0) + (together - from_second + margin).clamp_min(0.0)
        return terms.sum(1) / max(1, terms.shape[1]), terms


def _watched(
    outputs: Outputs, branch: str, batch: Batch, graphs: Mapping[Pair, Tensor], pairs: Sequence[Pair]
) -> dict[str, Tensor]:
    """Mean distances of labelled pairs, the graphs' purity, and how far embeddings are from being all alike.

    Means are over the pairs of modalities in which there is something to see.
    """
    seen: dict[str, list[Tensor]] = {"similar_distance": [], "dissimilar_distance": [], "edge_purity": []}
    for a, b in pairs:
        first, second = (outputs[name][branch].detach()[:, : batch[name].known] for name in (a, b))
        classes, others = (batch[name].targets.argmax(1) for name in (a, b))
        distance = unit_squared_distances(first, second).sqrt().mean(0)
        same = classes.unsqueeze(1) == others.unsqueeze(0)
        seen["similar_distance"].append(distance[same].mean())
        seen["dissimilar_distance"].append(distance[~same].mean())
        if (a, b) in graphs:
            seen["edge_purity"].append(edge_purity(graphs[a, b], classes, others))
    spread = [output_spread(parts[branch].flatten(0, 1)) for parts in outputs.values() if parts[branch].shape[1]]
    figures = {name: torch.stack(values).nanmean() for name, values in seen.items() if values}
    return figures | {"spread": torch.stack(spread).min()}
