"""What a uniformly random ranking scores on average, in closed form; the floor beside every result.

Let h of the first K ranks be hits. Given h, every placement of the hits is equally likely, a rank j holds
one with probability h/K, and given that it does, each of the j − 1 ranks before it holds one with
probability (h−1)/(K−1). Summing P(j) over the ranks gives, with the harmonic number H_K,

    E[Σ P(j) rel(j) | h] = h (a + b (h − 1)),   a = H_K / K,   b = (K − H_K) / (K (K − 1))

and h follows the hypergeometric distribution of K draws from n items of which R are relevant.
"""

import numpy as np
from scipy.special import digamma, gammaln

from diptych._core.arrays import Floats, Integers
from diptych.evaluation.average_precision import Denominator, check_cut, hits_counted


def expected_average_precision(
    relevant: Integers, gallery_size: int, k: int | None = None, denominator: Denominator = "retrieved"
) -> Floats:
    """E[AP@K] of a random ranking for queries with these numbers of relevant items.

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
    """E[precision@k] of a random ranking."""
    cut = check_cut(k, gallery_size)
    return np.asarray(_hit_moments(relevant, gallery_size, cut)[0] / k)


def expected_recall(relevant: Integers, gallery_size: int, k: int) -> Floats:
    """E[recall@k] of a random ranking; 0 for a query with no relevant item."""
    share = check_cut(k, gallery_size) / max(1, gallery_size)
    return np.where(np.asarray(relevant) > 0, share, 0.0)


def chance_of_no_hit(relevant: Integers, gallery_size: int, k: int) -> Floats:
    """The probability that none of the first k ranks holds a relevant item: C(n−R, k) / C(n, k)."""
    rest = gallery_size - np.asarray(relevant)
    possible = rest >= k
    rest = np.where(possible, rest, k)
    log = gammaln(rest + 1) - gammaln(rest - k + 1) - gammaln(gallery_size + 1) + gammaln(gallery_size - k + 1)
    return np.where(possible, np.exp(np.minimum(log, 0.0)), 0.0)


def best_rank_distribution(relevant: Integers, gallery_size: int) -> Floats:
    """The probability that the first hit stands at rank j or before, for j = 1..n, averaged over the queries."""
    values, times = np.unique(np.asarray(relevant), return_counts=True)
    ranks = np.arange(1, gallery_size + 1)
    within = np.zeros(gallery_size)
    for value, count in zip(values, times, strict=True):
        # C(n−R, j) / C(n, j) as a running product, which stays 0 once only relevant items are left.
        factors = (gallery_size - value - ranks + 1) / (gallery_size - ranks + 1)
        within += count * (1.0 - np.cumprod(factors))
    return np.asarray(within / len(relevant))


def expected_reciprocal_rank(relevant: Integers, gallery_size: int) -> float:
    """E[1 / rank of the first hit] of a random ranking, averaged over the queries, each of which has a relevant item.

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
