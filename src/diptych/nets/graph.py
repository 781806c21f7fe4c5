"""The online neighbour graph: which items of two modalities are near each other within a batch."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from diptych.errors import ConfigError
from diptych.nets.losses.squared_distance import squared_distances

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
