"""Candidates of one segment: by its graph where that helps, one by one where it does not."""

import numpy as np

from diptych._core.arrays import Integers, Singles
from diptych.index.local.exact import exact_candidates
from diptych.index.local.segment import Choice, Segment

_SELECTIVE_COUNT = 20_000
_SELECTIVE_SHARE = 0.05
"""A choice of no more than this is compared one by one: a graph would mostly walk over what may not be found."""


def candidates(
    segment: Segment, queries: Singles, k: int, choice: Choice | None, exact: bool = False
) -> list[Integers]:
    """For each query, positions that hold the k nearest of those chosen, to be scored; `exact` passes the graph by."""
    count = len(segment) if choice is None else choice.count
    if exact or segment.graph is None or count <= 8 * k or _is_selective(count, len(segment)):
        return _real(exact_candidates(segment.vectors, queries, k, choice))
    # More than asked for, so that rounding the vectors to 8 bits does not push one out of the best k.
    found = segment.graph.search(
        queries, k + max(k // 2, 4), None if choice is None else choice.bits, count / len(segment)
    )
    if -1 in found[:, -1].tolist():  # quicker than asking NumPy, for the one query that a search usually has
        return _completed(found, segment, queries, k, choice)
    return list(found)


def _is_selective(count: int, of: int) -> bool:
    return count < of and count <= max(_SELECTIVE_COUNT, _SELECTIVE_SHARE * of)


def _completed(found: Integers, segment: Segment, queries: Singles, k: int, choice: Choice | None) -> list[Integers]:
    """Search one by one where a walk met fewer than k; a graph promises nothing."""
    rows, short = _real(found), np.flatnonzero(found[:, k - 1] < 0)
    if len(short):
        complete = _real(exact_candidates(segment.vectors, queries[short], k, choice))
        for row, positions in zip(short.tolist(), complete, strict=True):
            rows[row] = positions
    return rows


def _real(found: Integers) -> list[Integers]:
    """Rows without the -1 that fill them up."""
    real = found >= 0
    return list(found) if real.all() else [row[kept] for row, kept in zip(found, real, strict=True)]
