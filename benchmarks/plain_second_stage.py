"""The losses of CDMLMR's second stage as one would first write them, for `bench_second_stage` to compare with.

Distances for the graph come from the differences of all pairs, selections from a loop over items, the contrastive loss
from pytorch-metric-learning, and the quadruplet loss either from a loop over quadruplets or from that library's matrix
of distances.
"""

import random
from typing import Literal

import torch
from pytorch_metric_learning.distances import LpDistance
from pytorch_metric_learning.losses import ContrastiveLoss
from pytorch_metric_learning.reducers import DoNothingReducer
from torch import Tensor

Pairs = list[tuple[int, int]]
Quadruplet = tuple[int, int, int, int]
Writing = Literal["loops", "library"]


class HalfSquares(ContrastiveLoss):
    """½d² of similar pairs and ½max(0, α − d)² of dissimilar ones, one number a pair."""

    def __init__(self, margin: float) -> None:
        super().__init__(neg_margin=margin, distance=LpDistance(normalize_embeddings=False), reducer=DoNothingReducer())

    def pos_calc(self, pos_pair_dist: Tensor, margin: float) -> Tensor:
        """Pull similar pairs."""
        return 0.5 * super().pos_calc(pos_pair_dist, margin) ** 2

    def neg_calc(self, neg_pair_dist: Tensor, margin: float) -> Tensor:
        """Push dissimilar pairs."""
        return 0.5 * super().neg_calc(neg_pair_dist, margin) ** 2


def graph(first: Tensor, second: Tensor, neighbours: int) -> Tensor:
    """The pairs in which one is among the nearest of the other, item after item."""
    with torch.no_grad():
        distances = ((first.unsqueeze(1) - second.unsqueeze(0)) ** 2).sum(2)
        near = torch.zeros_like(distances, dtype=torch.bool)
        for row in range(len(first)):
            near[row, distances[row].topk(neighbours, largest=False).indices] = True
        for column in range(len(second)):
            near[distances[:, column].topk(neighbours, largest=False).indices, column] = True
    return near


def select_pairs(labels: list[int], near: list[list[bool]], draw: random.Random) -> tuple[Pairs, Pairs]:
    """One similar and one dissimilar partner for every item of both modalities, in both groups of pairs."""
    count, labelled = len(near), len(labels)

    def known(p: int, q: int) -> bool:
        return p < labelled and q < labelled

    def similar(p: int, q: int) -> bool:
        return labels[p] == labels[q] if known(p, q) else near[p][q]

    chosen: dict[bool, Pairs] = {True: [], False: []}
    for item in range(count):
        for pairs in ([(item, other) for other in range(count)], [(other, item) for other in range(count)]):
            for group in (True, False):
                for kind in (True, False):
                    candidates = [pair for pair in pairs if known(*pair) == group and similar(*pair) == kind]
                    if candidates:
                        chosen[kind].append(draw.choice(candidates))
    return chosen[True], chosen[False]


def select_quadruplets(labels: list[int], per_item: int, draw: random.Random) -> list[Quadruplet]:
    """Some quadruplets for each labelled item."""
    chosen = []
    for item, label in enumerate(labels):
        same = [other for other, name in enumerate(labels) if name == label]
        others = [other for other, name in enumerate(labels) if name != label]
        chosen += [(item, draw.choice(same), draw.choice(others), draw.choice(others)) for _ in range(per_item)]
    return chosen


def contrastive(first: Tensor, second: Tensor, similar: Pairs, dissimilar: Pairs, margin: float) -> Tensor:
    """The mean contrastive loss of the selected pairs."""
    indices = (*torch.tensor(similar).t(), *torch.tensor(dissimilar).t())
    parts = HalfSquares(margin)(first, indices_tuple=indices, ref_emb=second)
    return torch.cat([part["losses"] for part in parts.values()]).mean()


def quadruplet(first: Tensor, second: Tensor, chosen: list[Quadruplet], margin: float, writing: Writing) -> Tensor:
    """The mean ranking loss of the selected quadruplets."""
    if writing == "library":
        squared = LpDistance(normalize_embeddings=False, power=2)(first, second)
        a, b, a_other, b_other = torch.tensor(chosen).t()
        return (2 * squared[a, b] - squared[a, b_other] - squared[a_other, b] + margin).relu().mean()
    terms = []
    for a, b, a_other, b_other in chosen:
        together = ((first[a] - second[b]) ** 2).sum()
        apart = ((first[a] - second[b_other]) ** 2).sum() + ((first[a_other] - second[b]) ** 2).sum()
        terms.append((2 * together - apart + margin).clamp(min=0))
    return torch.stack(terms).mean()
