"""Is one method better than another on the same queries, or was it luck?

The paired sign-flip (Fisher–Pitman) test: if the methods were equal, each query's difference would as
likely have the other sign. The p-value is the share of sign patterns whose mean difference is at least as
far from zero as the one observed. Smucker, Allan and Carterette, "A Comparison of Statistical Significance
Tests for Information Retrieval Evaluation", CIKM 2007, recommend it for average precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Floats
from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.evaluation.bootstrap import RESAMPLES, Interval, mean_interval, per_query

FLIPS = 10_000
_ENUMERATED = 12  # up to so many differences every sign pattern is tried
_BLOCK_BYTES = 32 * 2**20


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
    """The two-sided p-value of the sign-flip test: exact for a few differences, else by seeded random flips.

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
    """Correct p-values for being several (Holm, Scandinavian Journal of Statistics 1979), in the order given.

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
