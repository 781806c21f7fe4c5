"""Average precision, precision and recall as pure functions of hit positions, and what a random ranking scores.

With rel(j) ∈ {0, 1} the relevance at rank j and P(j) = (1/j) Σ_{l≤j} rel(l),

    AP@K = Σ_{j≤K} P(j) rel(j) / D

where D is the number of hits among the first K ("retrieved", the rule of Feng, Wang and Li, "Cross-modal
Retrieval with Correspondence Autoencoder", ACM Multimedia 2014, and of the work that follows its
evaluation), all R relevant items of the gallery ("R"), or the most hits the list could hold ("min_R_K").
For the whole gallery the three are the same. A query whose D is zero scores zero.

The expected scores of a uniformly random ranking have closed forms. Let h of the first K ranks be hits. Given h,
every placement of the hits is equally likely, a rank j holds one with probability h/K, and given that it does, each
of the j − 1 ranks before it holds one with probability (h−1)/(K−1). Summing P(j) over the ranks gives, with the
harmonic number H_K,

    E[Σ P(j) rel(j) | h] = h (a + b (h − 1)),   a = H_K / K,   b = (K − H_K) / (K (K − 1))

and h follows the hypergeometric distribution of K draws from n items of which R are relevant.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammaln

from diptych._core.arrays import Floats, Integers
from diptych._core.errors import ConfigError
from diptych.evaluation.ranking import HitPositions

Denominator = Literal["retrieved", "R", "min_R_K"]
DENOMINATORS: tuple[Denominator, ...] = ("retrieved", "R", "min_R_K")


def average_precision(relevance: ArrayLike, k: int | None = None, denominator: Denominator = "retrieved") -> float:
    """Return AP@K of one list whose items' relevance is given in rank order; K is the whole list when None.

    >>> round(average_precision([0, 1, 1, 0, 0, 1, 0, 1]), 6)
    0.541667
    """
    ranked = np.atleast_2d(np.asarray(relevance)).astype(np.bool_)
    return float(average_precision_at(HitPositions.from_ranked_relevance(ranked), k, denominator)[0])


def average_precision_at(hits: HitPositions, k: int | None = None, denominator: Denominator = "retrieved") -> Floats:
    """Return AP@K of every query; K is the whole gallery when None."""
    cut = check_cut(k, hits.gallery_size)
    found = _hits_within(hits, cut)
    columns = int(found.max(initial=0))
    ranks = hits.positions[:, :columns] + 1
    precisions = np.arange(1, columns + 1) / ranks
    total = np.sum(precisions, axis=1, where=ranks <= cut)
    return _ratio(total, hits_counted(denominator, found, hits.counts, cut))


def hits_counted(denominator: Denominator, found: Integers, relevant: Integers, cut: int) -> Integers:
    """Return the denominator D of AP@K, from the hits inside the list and the relevant items of the gallery."""
    if denominator not in DENOMINATORS:
        raise ConfigError(f"the denominator is {denominator!r}; choose one of {', '.join(DENOMINATORS)}.")
    if denominator == "retrieved":
        return found
    return relevant if denominator == "R" else np.minimum(relevant, cut)


def precision_at(hits: HitPositions, k: int) -> Floats:
    """Return the share of the first k ranks that hold a relevant item; ranks beyond the gallery count as misses."""
    check_cut(k, hits.gallery_size)
    return np.asarray(_hits_within(hits, k) / k)


def recall_at(hits: HitPositions, k: int) -> Floats:
    """Return the share of a query's relevant items among the first k; 0 for a query that has none."""
    check_cut(k, hits.gallery_size)
    return _ratio(_hits_within(hits, k), hits.counts)


def interpolated_precision(hits: HitPositions, points: int = 11) -> Floats:
    """Return precision at evenly spaced levels of recall from 0 to 1, one row per query.

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
    """Return the levels of recall of `interpolated_precision`."""
    return np.linspace(0.0, 1.0, points)


def check_cut(k: int | None, gallery_size: int) -> int:
    """Return the length of the list that is scored: k, or the gallery where it is shorter or k is None."""
    if k is not None and k < 1:
        raise ConfigError(f"the list is cut at {k}; a cut must be at least 1.")
    return gallery_size if k is None else min(k, gallery_size)


def _hits_within(hits: HitPositions, k: int) -> Integers:
    """Count how many of the first k ranks hold a relevant item."""
    within = hits.positions[:, :k] < min(k, hits.gallery_size)  # there are no more than k hits in k ranks
    return np.asarray(np.count_nonzero(within, axis=1), dtype=np.int64)


def _ratio(above: Floats | Integers, below: Integers) -> Floats:
    return np.divide(above, below, out=np.zeros(len(above)), where=below != 0)


def expected_average_precision(
    relevant: Integers, gallery_size: int, k: int | None = None, denominator: Denominator = "retrieved"
) -> Floats:
    """Return E[AP@K] of a random ranking for queries with these numbers of relevant items.

    >>> expected_average_precision(np.array([1]), 2)  # the one relevant item is first or second
    array([0.75])
    """
    cut = check_cut(k, gallery_size)
    if cut == 0:
        return np.zeros(len(relevant))
    a = _harmonic(cut) / cut
    b = (cut - _harmonic(cut)) / (cut * (cut - 1)) if cut > 1 else 0.0
    mean, mean_square = _hit_moments(relevant, gallery_size, cut)
    if denominator == "retrieved":
        any_hit = 1.0 - chance_of_no_hit(relevant, gallery_size, cut)
        return np.asarray((a - b) * any_hit + b * mean)
    below = hits_counted(denominator, relevant, relevant, cut)
    return np.divide((a - b) * mean + b * mean_square, below, out=np.zeros(len(relevant)), where=below != 0)


def expected_precision(relevant: Integers, gallery_size: int, k: int) -> Floats:
    """Return E[precision@k] of a random ranking."""
    cut = check_cut(k, gallery_size)
    return np.asarray(_hit_moments(relevant, gallery_size, cut)[0] / k)


def expected_recall(relevant: Integers, gallery_size: int, k: int) -> Floats:
    """Return E[recall@k] of a random ranking; 0 for a query with no relevant item."""
    share = check_cut(k, gallery_size) / max(1, gallery_size)
    return np.where(np.asarray(relevant) > 0, share, 0.0)


def chance_of_no_hit(relevant: Integers, gallery_size: int, k: int) -> Floats:
    """Return the probability that none of the first k ranks holds a relevant item: C(n−R, k) / C(n, k)."""
    rest = gallery_size - np.asarray(relevant)
    possible = rest >= k
    rest = np.where(possible, rest, k)
    log = gammaln(rest + 1) - gammaln(rest - k + 1) - gammaln(gallery_size + 1) + gammaln(gallery_size - k + 1)
    return np.where(possible, np.exp(np.minimum(log, 0.0)), 0.0)


def best_rank_distribution(relevant: Integers, gallery_size: int) -> Floats:
    """Return the probability that the first hit is at rank j or before, for j = 1..n, averaged over the queries."""
    values, times = np.unique(np.asarray(relevant), return_counts=True)
    ranks = np.arange(1, gallery_size + 1)
    within = np.zeros(gallery_size)
    for value, count in zip(values, times, strict=True):
        # C(n−R, j) / C(n, j) as a running product, which stays 0 once only relevant items are left.
        factors = (gallery_size - value - ranks + 1) / (gallery_size - ranks + 1)
        within += count * (1.0 - np.cumprod(factors))
    return np.asarray(within / len(relevant))


def expected_reciprocal_rank(relevant: Integers, gallery_size: int) -> float:
    """Return E[1 / rank of the first hit] of a random ranking, averaged over queries that each have a relevant item.

    >>> expected_reciprocal_rank(np.array([1]), 2)
    0.75
    """
    exactly = np.diff(best_rank_distribution(relevant, gallery_size), prepend=0.0)
    return float(np.sum(exactly / np.arange(1, gallery_size + 1)))


def _hit_moments(relevant: Integers, gallery_size: int, cut: int) -> tuple[Floats, Floats]:
    """E[h] and E[h²] of the hypergeometric number of hits among the first `cut` of the gallery."""
    share = np.asarray(relevant) / max(1, gallery_size)
    mean = cut * share
    rest = (gallery_size - cut) / (gallery_size - 1) if gallery_size > 1 else 0.0
    return mean, mean * (1.0 - share) * rest + mean**2


def _harmonic(n: int) -> float:
    return float(digamma(n + 1) + np.euler_gamma)
