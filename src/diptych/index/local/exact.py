"""Compare queries with every vector, and return all that may be among the best k.

faiss sums in single precision, and in an order that depends on how many queries come together. What it finds is
therefore only a candidate: enough of them are taken that none can be missing once they are scored exactly.
"""

import numpy as np

from diptych._core.arrays import Integers, Singles
from diptych._core.optional import faiss
from diptych.index.local.segment import Choice

_SLACK = 16
_GATHERED_AT_ONCE = 65_536
_SELECTIVE = 4
"""A choice of less than one in so many is gathered; of a larger one, more candidates are taken."""


def exact_candidates(vectors: Singles, queries: Singles, k: int, choice: Choice | None) -> Integers:
    """Positions of all vectors that may be among the k nearest of those chosen; -1 fills rows up."""
    if choice is None or choice.count * _SELECTIVE > len(vectors):
        return _searched(vectors, queries, k, choice)
    found = []
    for start in range(0, choice.count, _GATHERED_AT_ONCE):
        places = choice.places[start : start + _GATHERED_AT_ONCE]
        inner = _searched(vectors[places], queries, k, None)
        found.append(np.where(inner >= 0, places[inner], -1))
    return np.hstack(found) if found else np.empty((len(queries), 0), np.int64)


def _searched(vectors: Singles, queries: Singles, k: int, choice: Choice | None) -> Integers:
    """Take more and more candidates, until the k-th allowed one is clearly better than the last."""
    count, dimension = vectors.shape
    # Twice the largest error of a sum of products of two vectors of length 1 in single precision.
    doubt = 2 * dimension * 2.0**-23
    waiting, asked = np.arange(len(queries)), queries
    done: list[tuple[Integers, Integers]] = []
    fetch = min(count, k + _SLACK)
    while True:
        scores, found = faiss().knn(asked, vectors, fetch, metric=faiss().METRIC_INNER_PRODUCT)
        clear = scores > scores[:, -1:] + doubt
        if choice is not None:
            allowed = choice.mask[found]
            clear &= allowed
            found = np.where(allowed, found, -1)
        ready = clear.sum(axis=1) >= k
        if fetch == count or ready.all():
            done.append((waiting, found))
            return _padded(done, len(queries))
        done.append((waiting[ready], found[ready]))
        waiting, fetch = waiting[~ready], min(count, 4 * fetch)
        asked = queries[waiting]


def _padded(parts: list[tuple[Integers, Integers]], count: int) -> Integers:
    if len(parts) == 1:
        return np.asarray(parts[0][1], np.int64)
    result = np.full((count, max(found.shape[1] for _, found in parts)), -1, np.int64)
    for places, found in parts:
        result[places, : found.shape[1]] = found
    return result
