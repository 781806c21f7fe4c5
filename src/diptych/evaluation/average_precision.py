"""Average precision and its relatives, as pure functions of where the hits stand.

With rel(j) ∈ {0, 1} the relevance at rank j and P(j) = (1/j) Σ_{l≤j} rel(l),

    AP@K = Σ_{j≤K} P(j) rel(j) / D

where D is the number of hits among the first K ("retrieved", the rule of Feng, Wang and Li, "Cross-modal
Retrieval with Correspondence Autoencoder", ACM Multimedia 2014, and of the work that follows its
evaluation), all R relevant items of the gallery ("R"), or the most hits the list could hold ("min_R_K").
For the whole gallery the three are the same. A query whose D is zero scores zero.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Floats, Integers
from diptych._core.errors import ConfigError
from diptych.evaluation.ranking import HitPositions

Denominator = Literal["retrieved", "R", "min_R_K"]
DENOMINATORS: tuple[Denominator, ...] = ("retrieved", "R", "min_R_K")


def average_precision(relevance: ArrayLike, k: int | None = None, denominator: Denominator = "retrieved") -> float:
    """AP@K of one list whose items' relevance is given in rank order; K is the whole list when None.

    >>> round(average_precision([0, 1, 1, 0, 0, 1, 0, 1]), 6)
    0.541667
    """
    ranked = np.atleast_2d(np.asarray(relevance)).astype(np.bool_)
    return float(average_precision_at(HitPositions.from_ranked_relevance(ranked), k, denominator)[0])


def average_precision_at(hits: HitPositions, k: int | None = None, denominator: Denominator = "retrieved") -> Floats:
    """AP@K of every query; K is the whole gallery when None."""
    cut = check_cut(k, hits.gallery_size)
    found = _hits_within(hits, cut)
    columns = int(found.max(initial=0))
    ranks = hits.positions[:, :columns] + 1
    precisions = np.arange(1, columns + 1) / ranks
    total = np.sum(precisions, axis=1, where=ranks <= cut)
    return _ratio(total, hits_counted(denominator, found, hits.counts, cut))


def hits_counted(denominator: Denominator, found: Integers, relevant: Integers, cut: int) -> Integers:
    """The denominator D of AP@K, from the hits inside the list and the relevant items of the gallery."""
    if denominator not in DENOMINATORS:
        raise ConfigError(f"the denominator is {denominator!r}; choose one of {', '.join(DENOMINATORS)}.")
    if denominator == "retrieved":
        return found
    return relevant if denominator == "R" else np.minimum(relevant, cut)


def precision_at(hits: HitPositions, k: int) -> Floats:
    """The share of the first k ranks that hold a relevant item; ranks beyond the gallery count as misses."""
    check_cut(k, hits.gallery_size)
    return np.asarray(_hits_within(hits, k) / k)


def recall_at(hits: HitPositions, k: int) -> Floats:
    """The share of a query's relevant items among the first k; 0 for a query that has none."""
    check_cut(k, hits.gallery_size)
    return _ratio(_hits_within(hits, k), hits.counts)


def interpolated_precision(hits: HitPositions, points: int = 11) -> Floats:
    """Precision at evenly spaced levels of recall from 0 to 1, one row a query.

    At level r this is the best precision at any rank whose recall is at least r (Manning, Raghavan and
    Schütze, "Introduction to Information Retrieval", 2008, section 8.4); 0 for a query with no relevant item.
    """
    if points < 2:
        raise ConfigError(f"the curve has {points} points; it needs at least 2.")
    queries, columns = hits.positions.shape
    if columns == 0:
        return np.zeros((queries, points))
    precisions = np.arange(1, columns + 1) / (hits.positions + 1)
    precisions[np.arange(columns) >= hits.counts[:, None]] = 0.0
    best_from_here = np.maximum.accumulate(precisions[:, ::-1], axis=1)[:, ::-1]
    # The number of hits that reach recall j / (points - 1), rounded up in whole numbers to be exact.
    needed = -(-np.arange(points) * hits.counts[:, None] // (points - 1))
    return np.asarray(np.take_along_axis(best_from_here, np.maximum(needed, 1) - 1, axis=1))


def recall_levels(points: int = 11) -> Floats:
    """The levels of recall at which `interpolated_precision` answers."""
    return np.linspace(0.0, 1.0, points)


def check_cut(k: int | None, gallery_size: int) -> int:
    """The length of the list that is scored: k, or the gallery where it is shorter or k is None."""
    if k is not None and k < 1:
        raise ConfigError(f"the list is cut at {k}; a cut must be at least 1.")
    return gallery_size if k is None else min(k, gallery_size)


def _hits_within(hits: HitPositions, k: int) -> Integers:
    """How many of the first k ranks hold a relevant item."""
    within = hits.positions[:, :k] < min(k, hits.gallery_size)  # there are no more than k hits in k ranks
    return np.asarray(np.count_nonzero(within, axis=1), dtype=np.int64)


def _ratio(above: Floats | Integers, below: Integers) -> Floats:
    return np.divide(above, below, out=np.zeros(len(above)), where=below != 0)
