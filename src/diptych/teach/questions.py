"""Which items to ask about: one of each cluster first, then where the labels that were spread say least."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

import numpy as np

from diptych._core.arrays import Booleans, Floats, Integers
from diptych.methods.propagation import faiss
from diptych.teach.graph import ItemGraph
from diptych.teach.spreading import Spread

Reason = Literal["cluster", "uncertain"]
_CLUSTERS_PER_ROOT = 0.75
"""Clusters per square root of the number of items: 75 for ten thousand."""
_MOST_CLUSTERS = 200
_ROUNDS, _ROWS_PER_CLUSTER = 12, 100
_NEAR_DUPLICATE = 0.95
_LOOKED_AT = 40
"""Uncertain items among which each question is chosen."""


@dataclass(frozen=True)
class Clusters:
    """A partition of the items by where they lie.

    Attributes:
        of: the cluster of each row.
        nearness: of each row to the centre of its cluster.
        sizes: how many items each has.
    """

    of: Integers
    nearness: Floats
    sizes: Integers

    @classmethod
    def find(cls, graph: ItemGraph) -> "Clusters":
        """Spherical k-means, made alike every time."""
        living = int(graph.living.sum())
        count = int(min(_MOST_CLUSTERS, max(1, round(_CLUSTERS_PER_ROOT * living**0.5)), max(1, living)))
        if not living:
            return cls(np.zeros(0, np.int64), np.zeros(0), np.zeros(1, np.int64))
        library = faiss()
        found = library.Kmeans(
            graph.vectors.shape[1],
            count,
            niter=_ROUNDS,
            spherical=True,
            seed=0,
            min_points_per_centroid=1,
            max_points_per_centroid=_ROWS_PER_CLUSTER,
        )
        found.train(graph.vectors[graph.living])
        return cls.assigned(graph, found.centroids)

    @classmethod
    def assigned(cls, graph: ItemGraph, centres: Floats) -> "Clusters":
        """Every item in the cluster of the nearest centre."""
        cosines = graph.vectors @ centres.T
        of, nearness = cosines.argmax(axis=1), cosines.max(axis=1).astype(np.float64)
        sizes = np.bincount(of[graph.living], minlength=len(centres))
        return cls(of.astype(np.int64), nearness, sizes.astype(np.int64))

    def answered(self, rows: AbstractSet[int]) -> Booleans:
        """Which clusters hold a row that was answered; empty ones need no answer."""
        done = self.sizes == 0
        done[self.of[sorted(rows)]] = True
        return np.asarray(done)


@dataclass(frozen=True)
class Question:
    """An item whose label would help.

    Attributes:
        row: of the graph.
        reason: why it is asked.
        cluster_size: how many items its cluster has.
    """

    row: int
    reason: Reason
    cluster_size: int


def choose(spread: Spread, clusters: Clusters, answered: AbstractSet[int], askable: Booleans, n: int) -> list[Question]:
    """The items to ask about next, no two nearly alike.

    Args:
        spread: what is known of every item.
        clusters: of the same items.
        answered: rows that have an answer of any kind.
        askable: rows that may be asked about.
        n: how many questions at most.
    """
    free = askable & spread.graph.living
    free[sorted(answered)] = False
    chosen: list[Question] = []
    done = clusters.answered(answered)
    for cluster in np.argsort(-clusters.sizes, kind="stable"):
        members = np.flatnonzero((clusters.of == cluster) & free) if not done[cluster] and len(chosen) < n else ()
        if len(members):
            row = int(members[np.argmax(clusters.nearness[members])])
            chosen.append(Question(row, "cluster", int(clusters.sizes[cluster])))
    free[[question.row for question in chosen]] = False
    if len(chosen) < n:
        chosen += _uncertain(spread, clusters, free, [question.row for question in chosen], n - len(chosen))
    return chosen


def _uncertain(spread: Spread, clusters: Clusters, free: Booleans, taken: list[int], n: int) -> list[Question]:
    """Where the lead of the first class is small and many other items are near, each unlike those before it."""
    lead = np.zeros(len(free))  # a single class has no other to lead
    if len(spread.classes) > 1:
        second, first = np.partition(spread.shares, -2, axis=1)[:, -2:].T
        lead = first - second
    worth = np.where(free, (1.0 - lead) * np.maximum(spread.graph.density, 1e-3), -1.0)
    best = np.argsort(-worth, kind="stable")[: n * _LOOKED_AT]
    best = best[worth[best] > 0]
    vectors = spread.graph.vectors
    nearest = (vectors[best] @ vectors[taken].T).max(axis=1) if taken else np.full(len(best), -1.0)
    chosen: list[Question] = []
    for place, row in enumerate(best.tolist()):
        if len(chosen) == n:
            break
        if nearest[place] < _NEAR_DUPLICATE:
            chosen.append(Question(row, "uncertain", int(clusters.sizes[clusters.of[row]])))
            nearest = np.maximum(nearest, vectors[best] @ vectors[row])
    return chosen
