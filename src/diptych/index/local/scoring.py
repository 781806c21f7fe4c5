"""Exact cosines of candidates, and their order."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from diptych._core.arrays import Integers, Singles


def exact_scores(vectors: Singles, query: Singles, positions: Integers) -> Singles:
    """The cosines of one query with the vectors at some positions.

    Every product is summed by itself, always in the same order: a matrix product rounds equal rows differently at its
    edges, and equal vectors must get equal scores.
    """
    return np.asarray(np.vecdot(vectors.take(positions, axis=0), query))


def best_first(scores: Singles, ids_of: Callable[[Integers], list[str]]) -> Integers:
    """The order of candidates: by score, equal scores by id; `ids_of` is only asked where scores are equal."""
    order = (-scores).argsort(kind="stable")
    if len(set(scores.tolist())) < len(scores):
        _settle(order, scores.take(order), ids_of)
    return order


def _settle(order: Integers, ranked: Singles, ids_of: Callable[[Integers], list[str]]) -> None:
    """Put each run of equal scores into the order of the ids, in place."""
    borders = [0, *(np.flatnonzero(ranked[1:] != ranked[:-1]) + 1).tolist(), len(order)]
    for start, stop in pairwise(borders):
        if stop - start > 1:
            ids = ids_of(order[start:stop])
            order[start:stop] = order[start:stop][sorted(range(stop - start), key=ids.__getitem__)]
