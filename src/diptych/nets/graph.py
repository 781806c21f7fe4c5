"""Which rows of a batch belong together: the online neighbour graph, and guessed labels."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from diptych._core.errors import ConfigError
from diptych.nets.losses import squared_distances

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
    if metric == "cosine":
        return 1.0 - functional.normalize(first, dim=1) @ functional.normalize(second, dim=1).t()
    raise ConfigError(f"the metric of the neighbour graph is '{metric}'; choose one of euclidean, cosine.")


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
    if neighbours < 0:
        raise ConfigError(f"the number of neighbours is {neighbours}; it must be zero or more.")
    if eligible is None:
        eligible = torch.ones_like(distances, dtype=torch.bool)
    distances = distances.masked_fill(~eligible, torch.inf)
    near = (ranks(distances, 0) < neighbours) | (ranks(distances, 1) < neighbours)
    return near & eligible


def edge_purity(graph: Tensor, labels: Tensor) -> Tensor:
    """Return the share of edges between labelled items that join equal classes; NaN without such edges.

    The purity of a graph of all pairs is the chance level: near it, the graph says nothing about classes. Judge a
    graph over the whole batch: one restricted to pairs with unlabelled items has no edge to count.

    Args:
        graph: A over the batch.
        labels: classes of the labelled items, which are the first of both modalities.
    """
    edges = graph[: len(labels), : len(labels)]
    same = labels.unsqueeze(1) == labels.unsqueeze(0)
    return (edges & same).sum() / edges.sum()


Outputs = dict[str, dict[str, Tensor]]
"""What the network gives for the rows of each modality: name of the output to members × rows × columns."""


@torch.no_grad()
def shared_graph(outputs: Outputs, neighbours: int) -> Tensor:
    """Return which rows of the two modalities are neighbours in S, all members' codes side by side."""
    first, second = (parts["shared"].transpose(0, 1).flatten(1) for parts in outputs.values())
    return neighbour_graph(graph_distances(first, second, "cosine"), neighbours)


@torch.no_grad()
def guessed_labels(outputs: Outputs, targets: Tensor, graph: Tensor | None, *, paired: bool) -> dict[str, Tensor]:
    """Return every row's class probabilities, by modality: given ones first, then guesses.

    A guess is the mean over members and softmax layers. With a graph it is averaged with what the row's neighbours in
    the other modality say, and sharpened.

    Args:
        outputs: of the network; rows with given labels come first.
        targets: the given probabilities.
        graph: which rows are neighbours; None leaves the guesses as they are.
        paired: whether guessed rows stand beside their partners, which then share one guess.
    """
    known = len(targets)
    labels = {}
    for name, parts in outputs.items():
        heads = [part.softmax(-1).mean(0) for key, part in parts.items() if key.endswith(" classes")]
        labels[name] = torch.cat([targets, torch.stack(heads).mean(0)[known:]])
    first, second = labels
    if paired:
        together = _normalised(labels[first][known:] * labels[second][known:] + 1e-6)
        labels = {name: torch.cat([targets, together]) for name in labels}
    if graph is None:
        return labels
    edges = graph.to(targets.dtype)
    votes = {first: _normalised(edges @ labels[second]), second: _normalised(edges.t() @ labels[first])}
    return {name: torch.cat([targets, _sharpened(0.5 * (own + votes[name])[known:])]) for name, own in labels.items()}


def _normalised(rows: Tensor) -> Tensor:
    return rows / rows.sum(1, keepdim=True).clamp_min(1e-12)


def _sharpened(rows: Tensor) -> Tensor:
    return _normalised(rows.square())
