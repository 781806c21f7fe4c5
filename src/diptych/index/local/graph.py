"""The neighbour graph over 8-bit codes: hierarchical navigable small worlds (Malkov and Yashunin, 2018), by faiss.

Its distances are those of rounded vectors: it proposes candidates, and exact scores decide among them. It is built for
Euclidean distance, which orders vectors of length 1 as the cosine does.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Integers, Singles
from diptych._core.optional import faiss
from diptych.index.local.settings import Settings

FILE = "neighbours.faiss"


class Graph:
    """A graph in a file, mapped into memory."""

    def __init__(self, path: Path, count: int, trained_on: int, settings: Settings) -> None:
        library = faiss()
        self.path = path
        self.trained_on = trained_on
        self._index: Any = library.read_index(str(path), library.IO_FLAG_MMAP_IFC | library.IO_FLAG_READ_ONLY)
        if self._index.ntotal != count:
            raise ValueError(f"{path} holds {self._index.ntotal} vectors, not {count}")
        self._index.hnsw.efSearch = settings.ef_search
        self._ef = settings.ef_search
        self._pointer = library.swig_ptr

    def search(self, queries: Singles, k: int, bits: NDArray[np.uint8] | None, share: float) -> Integers:
        """Positions of about the k nearest to each query, -1 where fewer were met.

        Args:
            queries: vectors of length 1.
            k: how many.
            bits: which positions may be found; None for all.
            share: which part of all positions that is; the smaller, the wider the search.
        """
        if bits is None:
            return self._search_plainly(queries, k)
        library = faiss()
        selector = library.IDSelectorBitmap(bits)
        parameters = library.SearchParametersHNSW(sel=selector, efSearch=int(max(self._ef, k) / share))
        return np.asarray(self._index.search(queries, k, params=parameters)[1])

    def _search_plainly(self, queries: Singles, k: int) -> Integers:
        """The call that the library's own wrapper makes, without what that spends on a single query."""
        count = len(queries)
        distances, labels = np.empty((count, k), np.float32), np.empty((count, k), np.int64)
        pointer = self._pointer
        self._index.search_c(count, pointer(queries), k, pointer(distances), pointer(labels), None)
        return labels


def build_graph(blocks: Iterable[Singles], training: Singles, path: Path, settings: Settings) -> None:
    """Build a graph over blocks of vectors and write it."""
    library = faiss()
    index = library.index_factory(training.shape[1], f"HNSW{settings.links},SQ8", library.METRIC_L2)
    index.hnsw.efConstruction = settings.ef_construction
    index.train(training)
    _add(index, blocks, path)


def extend_graph(graph: Graph, blocks: Iterable[Singles], path: Path) -> None:
    """Write a graph with more vectors in it; the one given stays as it is."""
    _add(faiss().read_index(str(graph.path)), blocks, path)


def _add(index: Any, blocks: Iterable[Singles], path: Path) -> None:  # noqa: ANN401 - the library has no types
    for block in blocks:
        if len(block):
            index.add(np.ascontiguousarray(block, np.float32))
    faiss().write_index(index, str(path))
