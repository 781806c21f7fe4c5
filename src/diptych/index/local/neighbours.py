"""The nearest vectors of a view: candidates from every segment, exact scores, one order.

faiss sums in single precision, and in an order that depends on how many queries come together. What it finds is
therefore only a candidate: enough of them are taken that none can be missing once they are scored exactly.

A condition that many items meet is cheaper to check on the best results only: learning which of a million items meet it
takes SQLite a second, learning it of the best hundred takes nothing. A view that has met the condition before knows the
answer, so this is for the first time after a change.
"""

import sqlite3
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from diptych._core.arrays import Integers, Singles
from diptych.index.filters import Condition
from diptych.index.local.binary import CodedVectors, HammingCodes, Vectors, as_singles
from diptych.index.local.graph import faiss
from diptych.index.local.rows import rows_among
from diptych.index.local.segments import Choice, Segment

_SLACK = 16
_GATHERED_AT_ONCE = 65_536
_SELECTIVE = 4
"""A choice of less than one in so many is gathered; of a larger one, more candidates are taken."""


def exact_candidates(vectors: Vectors, queries: Singles, k: int, choice: Choice | None) -> Integers:
    """Positions of all vectors that may be among the k nearest of those chosen; -1 fills rows up."""
    if not isinstance(vectors, CodedVectors) and (choice is None or choice.count * _SELECTIVE > len(vectors)):
        return _searched(vectors, queries, k, choice)
    found, every = [], np.arange(len(vectors)) if choice is None else choice.places
    for start in range(0, len(every), _GATHERED_AT_ONCE):
        places = every[start : start + _GATHERED_AT_ONCE]
        inner = _searched(as_singles(vectors[places]), queries, k, None)
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
    if isinstance(segment.graph, HammingCodes):
        return _real(segment.graph.search(queries, k, None if choice is None else choice.mask))
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


def exact_scores(vectors: Vectors, query: Singles, positions: Integers) -> Singles:
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


_QUERIES_AT_ONCE = 1_024
"""More are searched in parts, so that memory does not grow with them."""
Named = tuple[str, Segment]
"""A segment and its modality."""


class Ranked(NamedTuple):
    """The best candidates of one query, as ids and as rows in SQLite."""

    ids: list[str]
    modalities: tuple[str, ...]
    scores: Singles
    rows: Integers


def nearest(
    segments: list[Named], choices: list[Choice] | None, queries: Singles, k: int, offset: int, exact: bool = False
) -> list[Ranked]:
    """Return the items from `offset` to `offset + k` in the order of each query."""
    if len(queries) > _QUERIES_AT_ONCE:
        blocks = (queries[start : start + _QUERIES_AT_ONCE] for start in range(0, len(queries), _QUERIES_AT_ONCE))
        return [ranked for block in blocks for ranked in nearest(segments, choices, block, k, offset, exact)]
    found = [
        candidates(segment, queries, k + offset, segment.alive if choices is None else choices[number], exact)
        for number, (_, segment) in enumerate(segments)
    ]
    page = slice(offset, offset + k)
    if len(segments) == 1:
        return [
            _ranked(segments[0], positions, query, page) for positions, query in zip(found[0], queries, strict=True)
        ]
    return [_merged(segments, [part[row] for part in found], query, page) for row, query in enumerate(queries)]


def _ranked(named: Named, positions: Integers, query: Singles, page: slice) -> Ranked:
    name, segment = named
    scores = exact_scores(segment.vectors, query, positions)
    order = best_first(scores, lambda columns: segment.ids.take(positions[columns]))[page]
    places = positions.take(order)
    return Ranked(segment.ids.take(places), (name,) * len(places), scores.take(order), segment.rows.take(places))


def _merged(segments: list[Named], found: list[Integers], query: Singles, page: slice) -> Ranked:
    """Rank the candidates of several segments, each of which only its first few can be of use."""
    whole = slice(0, page.stop)
    parts = [_ranked(named, positions, query, whole) for named, positions in zip(segments, found, strict=True)]
    ids = [id for part in parts for id in part.ids]
    names = [name for part in parts for name in part.modalities]
    rows = np.concatenate([np.empty(0, np.int64), *(part.rows for part in parts)])
    scores = np.concatenate([np.empty(0, np.float32), *(part.scores for part in parts)])
    order = best_first(scores, lambda columns: [ids[column] for column in columns.tolist()])[page]
    best = order.tolist()
    return Ranked([ids[i] for i in best], tuple(names[i] for i in best), scores[order], rows[order])


_TIMES = 8
_MOST_RESULTS = 10_000
_FEW = 20_000
"""So many items are asked about at once as quickly."""


def is_worth_it(segments: list[Named], queries: Singles, wanted: int) -> bool:
    """Whether asking about the best results only can save time."""
    looked_at = _TIMES * wanted * len(queries)
    return looked_at <= _MOST_RESULTS and sum(len(segment) for _, segment in segments) > _FEW


def overfetched(
    connection: sqlite3.Connection,
    condition: Condition,
    segments: list[Named],
    queries: Singles,
    k: int,
    offset: int,
    exact: bool = False,
) -> list[Ranked] | None:
    """The results that fit, or None if too few of the best ones do; then all items must be asked about."""
    wanted = k + offset
    every = nearest(segments, None, queries, _TIMES * wanted, 0, exact)
    fit = rows_among(connection, condition, list({row for hits in every for row in hits.rows.tolist()}))
    result = []
    for hits in every:
        kept = [place for place, row in enumerate(hits.rows.tolist()) if row in fit][:wanted]
        if len(kept) < wanted:
            return None
        result.append(_at(hits, kept[offset:]))
    return result


def _at(hits: Ranked, places: list[int]) -> Ranked:
    ids, names = [hits.ids[place] for place in places], tuple(hits.modalities[place] for place in places)
    return Ranked(ids, names, hits.scores[places], hits.rows[places])
