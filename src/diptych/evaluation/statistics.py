"""Bootstrap intervals of mean scores, and paired significance tests between methods.

Intervals: queries are drawn with replacement and the mean is taken again; the middle 95% of those means is the
interval (Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 1979).

Tests: the paired sign-flip (Fisher–Pitman) test. If two methods were equal, each query's difference would as
likely have the other sign. The p-value is the share of sign patterns whose mean difference is at least as
far from zero as the one observed. Smucker, Allan and Carterette, "A Comparison of Statistical Significance
Tests for Information Retrieval Evaluation", CIKM 2007, recommend it for average precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Floats, Integers
from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator

RESAMPLES = 2000
LEVEL = 0.95
_BLOCK_BYTES = 32 * 2**20

Interval = tuple[float, float]


def mean_interval(scores: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES, level: float = LEVEL) -> Interval:
    """Return the percentile interval of the mean of one score per query, or of a table seeds × queries."""
    return percentiles(resampled_means(per_query(scores)[:, None], seed=seed, resamples=resamples), level)[0]


def average_interval(
    first: ArrayLike,
    second: ArrayLike,
    first_ids: Sequence[str] | None = None,
    second_ids: Sequence[str] | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """Return the percentile interval of the average of two directions' mean scores.

    Where both directions query with the same items, an item is drawn for both at once, because its two
    scores go together; otherwise each direction draws its own.
    """
    one, two = per_query(first), per_query(second)
    order = _same_items(first_ids, second_ids, len(one), len(two))
    if order is not None:
        together = (one + two[order]) / 2
        return mean_interval(together, seed=seed, resamples=resamples, level=level)
    means = resampled_means(one[:, None], seed=seed, resamples=resamples, purpose="first")
    means += resampled_means(two[:, None], seed=seed, resamples=resamples, purpose="second")
    return percentiles(means / 2, level)[0]


def per_query(scores: ArrayLike) -> Floats:
    """Average seeds, so that there is one score per query and an interval is over queries only."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim not in (1, 2) or table.size == 0:
        raise DataError(f"scores have shape {table.shape}; give one per query, or a table of seeds by queries.")
    if not np.isfinite(table).all():
        raise DataError("a score is not finite; only numbers can be averaged.")
    return table if table.ndim == 1 else np.asarray(table.mean(axis=0))


def seed_spread(scores: ArrayLike) -> float | None:
    """Return the standard deviation over seeds of the mean score (n − 1 in the divisor); None for a single seed."""
    table = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    return float(table.mean(axis=1).std(ddof=1)) if len(table) > 1 else None


def resampled_means(columns: Floats, *, seed: int = 0, resamples: int = RESAMPLES, purpose: str = "queries") -> Floats:
    """Return the means of every column under the same draws of rows: resamples × columns, in little memory."""
    if resamples < 1:
        raise ConfigError(f"resamples is {resamples}; it must be at least 1.")
    random, rows = generator(seed, "bootstrap", purpose), len(columns)
    step = max(1, _BLOCK_BYTES // (24 * rows))
    means = np.empty((resamples, columns.shape[1]))
    for start in range(0, resamples, step):
        block = min(step, resamples - start)
        drawn = random.integers(rows, size=(block, rows))
        drawn += rows * np.arange(block)[:, None]  # so that one count over all gives each resample its own
        times = np.bincount(drawn.ravel(), minlength=block * rows).reshape(block, rows)
        means[start : start + block] = times.astype(np.float64) @ columns / rows
    return means


def percentiles(means: Floats, level: float = LEVEL) -> list[Interval]:
    """Return the middle part of each column of resampled means."""
    if not 0 < level < 1:
        raise ConfigError(f"level is {level}; it must lie between 0 and 1.")
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail], axis=0)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _same_items(
    first: Sequence[str] | None, second: Sequence[str] | None, first_count: int, second_count: int
) -> Integers | None:
    """The order that brings the second items in line with the first, or None where they are not the same items."""
    if first is None or second is None:
        return None
    if len(first) != first_count or len(second) != second_count:
        raise DataError(
            f"there are {first_count} and {second_count} scores but {len(first)} and {len(second)} ids; "
            "give every score its id."
        )
    one, two = np.asarray(first), np.asarray(second)
    if len(one) != len(two) or len(np.unique(one)) != len(one):
        return None
    first_order = np.argsort(one)
    order = np.empty(len(one), dtype=np.int64)
    order[first_order] = np.argsort(two)
    return order if np.array_equal(one, two[order]) else None


FLIPS = 10_000
_ENUMERATED = 12  # up to so many differences every sign pattern is tried


@dataclass(frozen=True)
class Comparison:
    """The first method against the second, on the same queries.

    Attributes:
        difference: mean score of the first minus that of the second.
        interval: its 95% bootstrap interval over queries.
        p_value: two-sided, of the sign-flip test; not corrected for other comparisons.
        queries: how many queries were compared.
    """

    difference: float
    interval: Interval
    p_value: float
    queries: int

    def to_json(self) -> dict[str, Any]:
        """The comparison as recorded beside results."""
        return {
            "difference": self.difference,
            "difference_ci95": list(self.interval),
            "p_value": self.p_value,
            "queries": self.queries,
        }


def compare(
    first: ArrayLike, second: ArrayLike, *, seed: int = 0, flips: int = FLIPS, resamples: int = RESAMPLES
) -> Comparison:
    """Compare two methods by their scores per query, or by tables seeds × queries (seeds are averaged first)."""
    one, two = per_query(first), per_query(second)
    if len(one) != len(two):
        raise DataError(f"one method has {len(one)} scores and the other {len(two)}; compare them on the same queries.")
    differences = one - two
    return Comparison(
        difference=float(differences.mean()),
        interval=mean_interval(differences, seed=seed, resamples=resamples),
        p_value=sign_flip_p_value(differences, seed=seed, flips=flips),
        queries=len(differences),
    )


def sign_flip_p_value(differences: Floats, *, seed: int = 0, flips: int = FLIPS) -> float:
    """Return the two-sided p-value of the sign-flip test: exact for a few differences, else by seeded random flips.

    Random flips count the observed signs as one of them, (1 + as far) / (1 + flips), so that p is never zero.
    """
    if flips < 1:
        raise ConfigError(f"flips is {flips}; it must be at least 1.")
    decisive = differences[differences != 0]  # flipping a zero changes nothing
    if len(decisive) <= _ENUMERATED:
        patterns = np.arange(2 ** len(decisive))[:, None] >> np.arange(len(decisive)) & 1
        return float(np.mean(_as_far(patterns, decisive)))
    random, width = generator(seed, "significance", "flips"), -(-len(decisive) // 8)
    step, as_far = max(1, _BLOCK_BYTES // (80 * width)), 0
    for start in range(0, flips, step):
        drawn = random.integers(256, size=(min(step, flips - start), width), dtype=np.uint8)
        as_far += int(np.count_nonzero(_as_far(np.unpackbits(drawn, axis=1)[:, : len(decisive)], decisive)))
    return (1 + as_far) / (1 + flips)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple comparisons (Holm, Scandinavian Journal of Statistics 1979), in the order given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if any(not 0 <= p <= 1 for p in p_values):
        raise DataError(f"p-values are {list(p_values)}; each must lie between 0 and 1.")
    order = np.argsort(p_values, kind="stable")
    steps = np.asarray(p_values, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(p) for p in corrected]


def _as_far(kept: np.ndarray, differences: Floats) -> np.ndarray:
    """Which sign patterns (1 keeps a sign, 0 flips it) lie at least as far from zero as all signs kept."""
    total = differences.sum()
    sums = 2.0 * (kept.astype(np.float64) @ differences) - total
    rounding = 1e-12 * np.abs(differences).sum()
    return np.asarray(np.abs(sums) >= abs(total) - rounding)
