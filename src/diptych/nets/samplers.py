"""Which cross-modal pairs of a batch count as similar: the neighbour graph, balanced pairs, quadruplets."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from diptych.nets.losses import Quadruplets, squared_distances

Metric = Literal["euclidean", "cosine"]


@torch.no_grad()
def graph_distances(first: Tensor, second: Tensor, metric: Metric = "euclidean") -> Tensor:
    """Return numbers that order all cross-modal pairs by distance, without gradients.

    Args:
        first: input representations of one modality, one row an item.
        second: those of the other, in the same space.
        metric: "euclidean" gives squared distances (the order is the same), "cosine" one minus the cosine.
    """
    if metric == "euclidean":
        return squared_distances(first, second)
    return 1.0 - functional.normalize(first, dim=1) @ functional.normalize(second, dim=1).t()


def ranks(values: Tensor, dim: int) -> Tensor:
    """Return the place of each value in ascending order along a dimension, from 0; ties go to the earlier item."""
    order = values.argsort(dim=dim, stable=True)
    shape = [1] * values.ndim
    shape[dim] = values.shape[dim]
    places = torch.arange(values.shape[dim], device=values.device).reshape(shape).expand_as(order)
    return torch.empty_like(order).scatter_(dim, order, places)


def neighbour_graph(distances: Tensor, neighbours: int, eligible: Tensor | None = None) -> Tensor:
    """Return A, where A(p, q) holds if p is among the k nearest of q or q among the k nearest of p.

    Neighbours are cross-modal and searched inside the batch (the online graph of CDMLMR, Huang and Peng 2017).

    Args:
        distances: one row for each item of the first modality, one column for each of the second.
        neighbours: k.
        eligible: pairs that may be neighbours; the k nearest of an item are then searched among them alone.
            None searches the whole batch.
    """
    if eligible is None:
        eligible = torch.ones_like(distances, dtype=torch.bool)
    distances = distances.masked_fill(~eligible, torch.inf)
    near = (ranks(distances, 0) < neighbours) | (ranks(distances, 1) < neighbours)
    return near & eligible


def edge_purity(graph: Tensor, labels: Tensor, others: Tensor | None = None) -> Tensor:
    """Return the share of edges between labelled items that join equal classes; NaN without such edges.

    The purity of a graph of all pairs is the chance level: near it, the graph says nothing about classes. Compare a
    graph over the whole batch: one restricted to pairs with unlabelled items has no edge to count.

    Args:
        graph: A over the batch.
        labels: classes of the labelled items, which are the first of both modalities.
        others: those of the second modality, where they are not the same items.
    """
    others = labels if others is None else others
    edges = graph[: len(labels), : len(others)]
    same = labels.unsqueeze(1) == others.unsqueeze(0)
    return (edges & same).sum() / edges.sum()


Outputs = dict[str, dict[str, Tensor]]
"""What the network gives for the rows of each modality: name of the output to members × rows × columns."""


@torch.no_grad()
def shared_graph(first: Mapping[str, Tensor], second: Mapping[str, Tensor], neighbours: int) -> Tensor:
    """Return which rows of two modalities are neighbours in S, all members' embeddings side by side.

    Args:
        first: what the network gives for the rows of one modality.
        second: for those of another.
        neighbours: k.
    """
    one, other = (parts["shared"].transpose(0, 1).flatten(1) for parts in (first, second))
    return neighbour_graph(graph_distances(one, other, "cosine"), neighbours)


@torch.no_grad()
def guessed_labels(
    outputs: Outputs,
    targets: Mapping[str, Tensor],
    graphs: Mapping[tuple[str, str], Tensor],
    *,
    documents: Mapping[str, Tensor] | None = None,
) -> dict[str, Tensor]:
    """Return every row's class probabilities, by modality: given ones first, then guesses.

    A guess is the mean over members and softmax layers. Rows of one document multiply theirs. With graphs a guess is
    averaged with what the row's neighbours in the other modalities say, on average over these, and sharpened.

    Args:
        outputs: of the network; rows with given labels come first.
        targets: the given probabilities.
        graphs: which rows of two modalities are neighbours; without any the guesses stay as they are.
        documents: for each modality the number of every guessed row's document, where that is known; its rows then
            share one guess.
    """
    labels = {}
    for name, parts in outputs.items():
        heads = [part.softmax(-1).mean(0) for key, part in parts.items() if key.endswith(" classes")]
        labels[name] = torch.cat([targets[name], torch.stack(heads).mean(0)[len(targets[name]) :]])
    if documents is not None:
        labels = _shared_guesses(labels, targets, documents)
    if not graphs:
        return labels
    votes: dict[str, list[Tensor]] = {name: [] for name in outputs}
    for (first, second), graph in graphs.items():
        edges = graph.to(labels[first].dtype)
        votes[first].append(_normalised(edges @ labels[second]))
        votes[second].append(_normalised(edges.t() @ labels[first]))
    smoothed = dict(labels)
    for name, own in labels.items():
        if votes[name]:
            mean = 0.5 * (own + torch.stack(votes[name]).mean(0))
            smoothed[name] = torch.cat([targets[name], _sharpened(mean[len(targets[name]) :])])
    return smoothed


def _shared_guesses(
    labels: Mapping[str, Tensor], targets: Mapping[str, Tensor], documents: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The same labels, with one guess for all rows of a document: the product of theirs."""
    count = max((int(numbers.max()) + 1 for numbers in documents.values() if len(numbers)), default=0)
    some = next(iter(labels.values()))
    together = some.new_ones(count, some.shape[1])
    for name, numbers in documents.items():
        together[numbers] *= labels[name][len(targets[name]) :]
    together = _normalised(together + 1e-6)
    return {name: torch.cat([targets[name], together[documents[name]]]) for name in labels}


def _normalised(rows: Tensor) -> Tensor:
    return rows / rows.sum(1, keepdim=True).clamp_min(1e-12)


def _sharpened(rows: Tensor) -> Tensor:
    return _normalised(rows.square())


UnlabelledPairs = Literal["any", "both"]
UnlabelledNegatives = Literal["all", "far_third"]


class PairSelection(NamedTuple):
    """Which cross-modal pairs of a batch the contrastive loss sees.

    Attributes:
        weights: Ω, how much each pair counts; 0 where it was not drawn.
        similar: whether each pair is similar; meaningful where the weight is above 0.
    """

    weights: Tensor
    similar: Tensor


def balanced_pairs(
    labels: Tensor,
    neighbours: Tensor,
    distances: Tensor,
    random: torch.Generator,
    *,
    unlabelled_weight: float = 1.0,
    unlabelled_pairs: UnlabelledPairs = "any",
    unlabelled_negatives: UnlabelledNegatives = "all",
    known_pairs: Tensor | None = None,
) -> PairSelection:
    """Draw one similar and one dissimilar partner for every item of both modalities (CDMLMR, Huang and Peng 2017).

    It is done once among the pairs of two labelled items, where similar means of one class, and once among the pairs
    with unlabelled items, where similar means neighbours. An item without a candidate of a kind gets no partner of
    that kind; a pair drawn from both its sides counts twice.

    Args:
        labels: classes of the labelled items, which are the first of both modalities; no other label is ever read.
        neighbours: the neighbour graph, rows for the first modality and columns for the second.
        distances: the distances the graph was made from.
        random: the only source of the draws.
        unlabelled_weight: λ_u, the weight of a pair with unlabelled items; a pair of labelled items weighs 1.
        unlabelled_pairs: see `unlabelled_group`.
        unlabelled_negatives: where dissimilar partners in the unlabelled group come from: "all" that are no
            neighbours, or the farthest third of those.
        known_pairs: pairs with unlabelled items that are known to belong together; similar beside the neighbours.
    """
    labelled = _labelled_group(neighbours, len(labels))
    unlabelled = unlabelled_group(neighbours, len(labels), unlabelled_pairs)
    linked = neighbours if known_pairs is None else neighbours | known_pairs
    similar = torch.where(labelled, _same_class(labelled, labels), linked)

    counts = _partners(labelled & similar, random) + _partners(labelled & ~similar, random)
    far = distances if unlabelled_negatives == "far_third" else None
    drawn = _partners(unlabelled & similar, random) + _partners(unlabelled & ~similar, random, far)
    weights = counts.to(distances.dtype) + unlabelled_weight * drawn.to(distances.dtype)
    return PairSelection(weights, similar)


def unlabelled_group(like: Tensor, labelled: int, unlabelled_pairs: UnlabelledPairs = "any") -> Tensor:
    """Return the mask of pairs with unlabelled items.

    Args:
        like: a matrix with one entry for each pair of the batch.
        labelled: how many items, the first of both modalities, have labels.
        unlabelled_pairs: "any" asks for at least one unlabelled item, as the text of the paper does, "both" for two,
            as the limits of its sums do.
    """
    if unlabelled_pairs == "any":
        return ~_labelled_group(like, labelled)
    mask = torch.zeros_like(like, dtype=torch.bool)
    mask[labelled:, labelled:] = True
    return mask


def pick_one_per_row(mask: Tensor, random: torch.Generator) -> Tensor:
    """Return a mask with one entry of each row of `mask`, uniformly at random; none where the row is empty."""
    draws = torch.rand(mask.shape, generator=random, device=mask.device).masked_fill(~mask, -1.0)
    chosen = draws.argmax(1, keepdim=True)
    return mask & (torch.arange(mask.shape[1], device=mask.device) == chosen)


def _partners(mask: Tensor, random: torch.Generator, far: Tensor | None = None) -> Tensor:
    """Count how often each pair is drawn: for its row, for its column, or for both."""
    by_row, by_column = mask, mask.t()
    if far is not None:
        by_row, by_column = _farthest_third(by_row, far), _farthest_third(by_column, far.t())
    return pick_one_per_row(by_row, random).int() + pick_one_per_row(by_column, random).t().int()


def _farthest_third(mask: Tensor, distances: Tensor) -> Tensor:
    """Keep, in each row, the third of the entries with the greatest distance, rounded up."""
    allowed = (mask.sum(1, keepdim=True) + 2) // 3
    nearness = (-distances).masked_fill(~mask, torch.inf)
    return mask & (ranks(nearness, 1) < allowed)


def _labelled_group(like: Tensor, labelled: int) -> Tensor:
    mask = torch.zeros_like(like, dtype=torch.bool)
    mask[:labelled, :labelled] = True
    return mask


def _same_class(like: Tensor, labels: Tensor) -> Tensor:
    same = torch.zeros_like(like)
    same[: len(labels), : len(labels)] = labels.unsqueeze(1) == labels.unsqueeze(0)
    return same


_WIDE = 2**62
"""Range of the whole numbers whose remainders pick an item: so wide that no remainder is favoured."""


def sample_quadruplets(labels: Tensor, per_item: int, random: torch.Generator) -> Quadruplets:
    """Draw `per_item` quadruplets for each labelled item on average (CDMLMR, Huang and Peng 2017).

    The first positive is uniform over all items, the second uniform over the items of its class, both negatives
    uniform over the items of other classes and independent of each other.

    Args:
        labels: classes of the labelled items of the batch, the same in both modalities.
        per_item: r, quadruplets for each item.
        random: the only source of the draws.

    Returns:
        Row numbers; none when the items are of a single class, where no negative exists.
    """
    count = len(labels)
    if count == 0 or bool((labels == labels[0]).all()):
        return Quadruplets(*torch.zeros(4, 0, dtype=torch.int64, device=labels.device))
    # Sorted by class, the members of a class are a run, and all others the rest of the circle after it.
    order = labels.argsort(stable=True)
    sizes = (labels.unsqueeze(0) == labels.unsqueeze(1)).sum(1)
    starts = (labels.unsqueeze(0) < labels.unsqueeze(1)).sum(1)

    draws = torch.randint(_WIDE, (4, per_item * count), generator=random, device=labels.device)
    first_positive = draws[0] % count
    size, start = sizes[first_positive], starts[first_positive]
    second_positive = order[start + draws[1] % size]
    negatives = order[(start + size + draws[2:] % (count - size)) % count]
    return Quadruplets(first_positive, second_positive, negatives[0], negatives[1])
