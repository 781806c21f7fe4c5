"""Bootstrap intervals of mean scores: the spread that comes from which queries were asked.

Queries are drawn with replacement and the mean is taken again; the middle 95% of those means is the
interval (Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 1979).
"""

from collections.abc import Sequence

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
    """The percentile interval of the mean of one score per query, or of a table seeds × queries."""
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
    """The percentile interval of the average of two directions' mean scores.

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
    """One score per query: seeds are averaged first, so that an interval speaks of queries only."""
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim not in (1, 2) or table.size == 0:
        raise DataError(f"scores have shape {table.shape}; give one per query, or a table of seeds by queries.")
    if not np.isfinite(table).all():
        raise DataError("a score is not finite; only numbers can be averaged.")
    return table if table.ndim == 1 else np.asarray(table.mean(axis=0))


def seed_spread(scores: ArrayLike) -> float | None:
    """The standard deviation over seeds of the mean score (n − 1 in the divisor); None for a single seed."""
    table = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    return float(table.mean(axis=1).std(ddof=1)) if len(table) > 1 else None


def resampled_means(columns: Floats, *, seed: int = 0, resamples: int = RESAMPLES, purpose: str = "queries") -> Floats:
    """The means of every column under the same draws of rows: resamples × columns, in little memory."""
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
    """The middle part of each column of resampled means."""
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
