"""The settings of the local engine, and the graph of neighbours over 8-bit quantised vectors (faiss)."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Integers, Singles
from diptych._core.errors import ConfigError, optional_package
from diptych.index.identity import EngineSettings
from diptych.methods.binary_codes import check_bits

Structure = Literal["auto", "flat", "hnsw"]
STRUCTURES: tuple[Structure, ...] = ("auto", "flat", "hnsw")


def faiss() -> Any:  # noqa: ANN401 - the library has no types
    """The library of vector search."""
    return optional_package("faiss", "the engine local", "search")


@dataclass(frozen=True)
class Settings(EngineSettings):
    """The choices of the local engine.

    Attributes:
        structure: "flat" compares with every vector, "hnsw" walks a graph over 8-bit vectors; "auto" takes "flat" for
            fewer than `exact_below` vectors of a modality.
        exact_below: where "auto" changes over.
        links: neighbours of a vector in the graph.
        ef_construction: candidates kept while the graph is built.
        ef_search: candidates kept while it is searched.
        fold_at: so many recent vectors are searched one by one before they are folded into the structure.
        words: whether items can also be found by words.
        bits: length of the binary codes by which vectors are searched; 0 for none. Fewer than twice `shortlist` vectors
            of a modality are compared one by one all the same.
        shortlist: how many candidates the codes give at least, to be scored by the vectors.
        keep_float: whether vectors are kept beside their codes; without them an item takes bits / 8 bytes, and scores
            are those of the vectors that codes stand for.
    """

    structure: Structure = "auto"
    exact_below: int = 50_000
    links: int = 16
    ef_construction: int = 64
    ef_search: int = 128
    fold_at: int = 10_000
    words: bool = False
    bits: int = 0
    shortlist: int = 1_000
    keep_float: bool = True

    def check(self) -> None:
        """Refuse values out of range."""
        if self.structure not in STRUCTURES:
            raise ConfigError(f"structure is {self.structure!r}; choose one of {', '.join(STRUCTURES)}.")
        for name in ("words", "keep_float"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} is {getattr(self, name)!r}; it must be true or false.")
        if self.bits != 0 or not self.keep_float:
            check_bits(self.bits)
            if self.structure == "hnsw":
                raise ConfigError("structure is 'hnsw' and bits are given; codes are searched flat, so leave one out.")
        for field in fields(self):
            value, least = getattr(self, field.name), 2 if field.name == "links" else 1
            if field.name in ("structure", "words", "bits", "keep_float"):
                continue
            if not isinstance(value, int) or value < least:
                raise ConfigError(f"{field.name} is {value!r}; it must be a whole number of at least {least}.")

    def wants_graph(self, count: int) -> bool:
        """Whether so many vectors are searched by a graph."""
        return not self.bits and (self.structure == "hnsw" or (self.structure == "auto" and count >= self.exact_below))

    def wants_codes(self, count: int) -> bool:
        """Whether so many vectors are searched by binary codes."""
        return self.bits > 0 and self.structure != "flat" and count >= 2 * self.shortlist

    def too_many_recent(self, recent: int, folded: int) -> bool:
        """Whether recent vectors should be folded: a share of those folded, so that adding many stays linear."""
        return recent > max(self.fold_at, folded // 8)


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
