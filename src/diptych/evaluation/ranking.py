"""Rank a gallery for every query and find the positions of the relevant items, from which every measure is computed.

The ranking is by falling similarity, exact in float64, and stable: equal similarities keep the gallery's
order. Memory holds a few chunks of queries at a time, never the table of all queries by all items.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Booleans, Floats, Integers
from diptych._core.errors import ConfigError
from diptych.data.labels import Labels
from diptych.evaluation.similarity import Gallery, Rows, Similarity, check_pair

MEMORY_BUDGET = 256 * 2**20
"""Bytes a ranking may use beside its inputs and one float64 copy of the gallery."""

_BYTES_PER_CELL = 56  # similarities, labels shared, places of hits and what the measures make of them, at worst
_LARGEST_PLACE = 2.0**30 - 1  # shifted by one for relevance, it still fits a signed 32-bit number
_SMALLEST_SPAN = 1e-250  # below, the scale of a row's keys would leave the range of floats
_LARGEST_CHUNK = 128  # longer chunks gain nothing: the sort works row by row


@dataclass(frozen=True)
class HitPositions:
    """The positions of the relevant items in the rankings of some queries.

    Attributes:
        positions: queries × largest count; row q lists the zero-based ranks of its relevant items in
            rising order, filled up with the gallery's size.
        counts: how many relevant items the gallery holds for each query (R).
        gallery_size: how many items were ranked (n).
    """

    positions: Integers
    counts: Integers
    gallery_size: int

    @classmethod
    def from_ranked_relevance(cls, ranked: Booleans) -> "HitPositions":
        """Read the positions from relevance in rank order, one row per query.

        >>> HitPositions.from_ranked_relevance(np.array([[False, True, True], [True, False, False]])).positions
        array([[1, 2],
               [0, 3]])
        """
        counts = np.count_nonzero(ranked, axis=1).astype(np.int64)
        return cls(_padded(np.flatnonzero(ranked), counts, ranked.shape[1]), counts, ranked.shape[1])


def hit_positions(
    queries: Rows,
    gallery: Rows,
    query_labels: Labels,
    gallery_labels: Labels,
    *,
    similarity: Similarity = "cosine",
    memory_budget: int = MEMORY_BUDGET,
    workers: int | None = None,
) -> Iterator[tuple[slice, HitPositions]]:
    """Rank the gallery for every query and yield the positions of the relevant items, chunk by chunk.

    Args:
        queries: one row a query.
        gallery: one row an item, in the same space.
        query_labels: the labels of the queries; an unlabelled query has no relevant item.
        gallery_labels: the labels of the items; relevant is what shares a label with the query.
        similarity: "cosine" (0 for a zero row) or "dot".
        memory_budget: bytes for chunks in work; decides how many queries make a chunk.
        workers: threads; every core when None.

    Yields:
        The slice of queries a chunk covers, in order, and their hit positions.
    """
    check_pair(queries, gallery, query_labels, gallery_labels)
    if memory_budget < 1:
        raise ConfigError(f"memory_budget is {memory_budget}; it must be a positive number of bytes.")
    prepared = Gallery.of(gallery, similarity)
    threads = workers or os.cpu_count() or 1
    # Two chunks more than there are threads are alive: one waits for its reader, one is being read.
    bytes_per_query = (threads + 2) * (_BYTES_PER_CELL * len(gallery) + 24 * gallery.shape[1])
    step = min(_LARGEST_CHUNK, max(1, memory_budget // max(1, bytes_per_query)))

    buffers = threading.local()

    def rank(chunk: slice) -> HitPositions:
        if not hasattr(buffers, "own"):
            buffers.own = _Buffers.for_queries(step, prepared)
        asked = query_labels.take(np.arange(chunk.start, chunk.stop))
        return _rank(queries[chunk], prepared, asked, gallery_labels, buffers.own)

    chunks = (slice(start, min(start + step, len(queries))) for start in range(0, len(queries), step))
    return _in_order(rank, chunks, threads)


def _in_order(
    rank: Callable[[slice], HitPositions], chunks: Iterator[slice], threads: int
) -> Iterator[tuple[slice, HitPositions]]:
    """Rank a few chunks at once and yield them in order; sorting releases the interpreter's lock."""
    with ThreadPoolExecutor(threads) as pool:
        underway: deque[tuple[slice, Future[HitPositions]]] = deque()
        try:
            for chunk in chunks:
                underway.append((chunk, pool.submit(rank, chunk)))
                if len(underway) > threads:
                    ready, future = underway.popleft()
                    yield ready, future.result()
            while underway:
                ready, future = underway.popleft()
                yield ready, future.result()
        finally:
            for _, future in underway:
                future.cancel()


@dataclass(frozen=True)
class _Buffers:
    """One thread's buffers, reused for every chunk: allocating them costs more than the arithmetic."""

    similarities: Floats
    keys: NDArray[np.int32]

    @classmethod
    def for_queries(cls, count: int, gallery: Gallery) -> "_Buffers":
        return cls(np.empty((count, len(gallery))), np.empty((count, len(gallery)), dtype=np.int32))


def _rank(
    queries: Rows, gallery: Gallery, query_labels: Labels, gallery_labels: Labels, buffers: _Buffers
) -> HitPositions:
    """Rank one chunk: a fast sort that carries relevance in the lowest bit, repaired where that bit decided.

    Sorting keys is several times faster than sorting indices, and relevance is all that is needed of the
    items. Where a hit's neighbour has the same key but for the lowest bit, the two may be tied or out of order,
    and the whole row is ranked again by a stable sort of indices.
    """
    relevant = query_labels.shared_with(gallery_labels)
    counts = np.count_nonzero(relevant, axis=1).astype(np.int64)
    rows = len(queries)
    bits = _sorted_keys(gallery.compare(queries, buffers.similarities[:rows]), relevant, buffers.keys[:rows])
    items = bits.shape[1]
    hits = np.flatnonzero((bits & 1).astype(np.bool_))
    doubtful = np.unique(_touching(bits.ravel(), hits) // max(1, items))
    positions = _padded(hits, counts, items)
    if len(doubtful):
        order = np.argsort(-gallery.compare(queries[doubtful]), axis=1, kind="stable")
        ranked = np.take_along_axis(relevant[doubtful], order, axis=1)
        positions[doubtful] = _padded(np.flatnonzero(ranked), counts[doubtful], items, positions.shape[1])
    return HitPositions(positions, counts, items)


def _sorted_keys(similarities: Floats, relevant: Booleans, keys: NDArray[np.int32]) -> NDArray[np.int32]:
    """Sort each row by falling similarity, as 30-bit distances from its best with relevance in the lowest bit.

    A vectorised sort of 32-bit keys takes half the time of one of 64 bits. Similarities too close to be told apart by
    30 bits share a key, and are told apart later if it matters. The similarities are destroyed
    and the result stands in `keys`.
    """
    best = similarities.max(axis=1, initial=-np.inf)
    span = best - similarities.min(axis=1, initial=np.inf)
    flat = ~((span > _SMALLEST_SPAN) & np.isfinite(span))
    similarities[flat], best[flat], span[flat] = 0.0, 0.0, 1.0  # one key for all: such rows are ranked exactly
    np.subtract(best[:, None], similarities, out=similarities)
    np.multiply(similarities, (_LARGEST_PLACE / span)[:, None], out=similarities)
    np.copyto(keys, similarities, casting="unsafe")
    np.left_shift(keys, 1, out=keys)
    np.bitwise_or(keys, relevant, out=keys)
    keys.sort(axis=1)
    return keys


def _touching(bits: NDArray[np.int32], hits: Integers) -> Integers:
    """The hits with a neighbour that differs from them in the lowest bit only."""
    partner = bits[hits] - 1
    tied = bits[np.maximum(hits - 1, 0)] == partner
    tied |= bits[np.minimum(hits + 1, len(bits) - 1)] == partner
    return np.asarray(hits[tied])


def _padded(flat_hits: Integers, counts: Integers, items: int, width: int | None = None) -> Integers:
    """Spread hits, given as places in the flattened table, over rows filled up with the gallery's size."""
    columns = int(counts.max(initial=0)) if width is None else width
    positions = np.full((len(counts), columns), items, dtype=np.int64)
    positions[np.arange(columns) < counts[:, None]] = flat_hits % max(1, items)
    return positions
