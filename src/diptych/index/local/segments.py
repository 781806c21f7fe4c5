"""Segments: runs of vectors of one modality, searched as one; once made, a segment never changes.

Its columns (vectors, rows, ids) lie in memory or in derived files, which are mapped into memory when they are read.
"""

import mmap
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Booleans, Integers
from diptych.index.local.binary import HammingCodes, Vectors, concatenated
from diptych.index.local.graph import Graph
from diptych.index.local.postings import Postings, places_among

_BLOCK = 1 << 20


def checksum(path: Path) -> int:
    """A number that damage changes: 64-bit sums of blocks, and a CRC over the sums.

    Made to be as quick as memory, so that a gigabyte is checked in a fraction of a second whenever an index is opened.
    """
    sums = []
    with path.open("rb", buffering=0) as file:
        buffer = np.empty(_BLOCK // 8, np.uint64)
        view = memoryview(cast(Any, buffer)).cast("B")
        while size := _fill(file, view):
            view[size:] = bytes(_BLOCK - size)
            sums.append(np.add.reduce(buffer))
    return zlib.crc32(np.array(sums, np.uint64).tobytes())


def _fill(file: Any, view: memoryview) -> int:  # noqa: ANN401 - an unbuffered binary file
    size = 0
    while size < len(view) and (got := file.readinto(view[size:])):
        size += got
    return size


def map_numbers(path: Path, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Numbers of a raw file; no file can be mapped that is empty."""
    if 0 in shape:
        return np.empty(shape, dtype)
    # A plain array over the mapping: indexing an np.memmap costs several times as much.
    return np.asarray(np.memmap(path, dtype=dtype, mode="r", shape=shape)).view(np.ndarray)


def write_numbers(path: Path, blocks: Iterable[NDArray[Any]], dtype: str) -> None:
    """Write raw numbers, block after block."""
    with path.open("wb") as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).data.cast("B") if block.size else b"")


def rows_of_blobs(blobs: list[bytes], into: NDArray[Any]) -> None:
    """Vectors as SQLite keeps them, put into rows of an array."""
    into[:] = np.frombuffer(b"".join(blobs), dtype=into.dtype).reshape(into.shape)


_SHORT = 64
"""Bytes; where no id is longer, all are given the same room."""


class MappedIds:
    """Ids of any length on disk: their bytes one after another, and where each starts."""

    def __init__(self, texts: Path, offsets: Integers) -> None:
        self._offsets = offsets
        with texts.open("rb") as file:
            self._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def take(self, positions: Integers) -> list[str]:
        """The ids at these positions."""
        texts = self._texts
        starts, stops = self._offsets.take(positions).tolist(), self._offsets.take(positions + 1).tolist()
        return [texts[start:stop].decode() for start, stop in zip(starts, stops, strict=True)]


class EvenIds:
    """Short ids on disk: each in the same number of bytes, filled up with zeros; much quicker to look up."""

    def __init__(self, texts: NDArray[np.bytes_]) -> None:
        self._texts = texts

    def take(self, positions: Integers) -> list[str]:
        """The ids at these positions; no id contains a zero byte."""
        return b"\0".join(self._texts.take(positions).tolist()).decode().split("\0") if len(positions) else []


class HeldIds:
    """Ids in memory."""

    def __init__(self, ids: list[str]) -> None:
        self._ids = ids

    def take(self, positions: Integers) -> list[str]:
        """The ids at these positions."""
        ids = self._ids
        return [ids[position] for position in positions.tolist()]


Ids = EvenIds | MappedIds | HeldIds


def write_ids(folder: Path, ids: list[str]) -> None:
    """Write ids in a form that `map_ids` reads."""
    encoded = [id.encode() for id in ids]
    width = max(map(len, encoded), default=1)
    if width <= _SHORT:
        write_numbers(folder / f"ids.s{width}", [np.array(encoded, f"S{width}")], f"S{width}")
        return
    (folder / "ids.txt").write_bytes(b"".join(encoded))
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    write_numbers(folder / "offsets.i64", [offsets], "<i8")


def map_ids(folder: Path, count: int) -> Ids:
    """Ids as they were written."""
    for path in folder.glob("ids.s*"):
        return EvenIds(map_numbers(path, path.suffix[1:].upper(), (count,)))
    return MappedIds(folder / "ids.txt", map_numbers(folder / "offsets.i64", "<i8", (count + 1,)))


class Choice:
    """Which positions of a segment may be found."""

    def __init__(self, mask: Booleans) -> None:
        self.mask = mask
        self.count = int(np.count_nonzero(mask))

    @cached_property
    def places(self) -> Integers:
        """The positions, ascending."""
        return np.flatnonzero(self.mask)

    @cached_property
    def bits(self) -> NDArray[np.uint8]:
        """One bit a position, as faiss reads it."""
        return np.packbits(self.mask, bitorder="little")


@dataclass(frozen=True, eq=False)
class Segment:
    """Vectors, the rows and ids they belong to, and what was removed from them since.

    Attributes:
        vectors: of length 1.
        rows: row numbers in SQLite, ascending.
        ids: one each.
        dead: which are removed or replaced; None while all live.
        graph: their neighbour structure or binary codes; None if they are compared one by one.
        folded: whether they lie in derived files.
        postings: what is known so far of the words of its items.
    """

    vectors: Vectors
    rows: Integers
    ids: Ids
    dead: Booleans | None = None
    graph: Graph | HammingCodes | None = None
    folded: bool = False
    postings: Postings = field(default_factory=Postings)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def alive(self) -> Choice | None:
        """What is left; None if that is everything."""
        return None if self.dead is None else Choice(~self.dead)

    @property
    def living(self) -> int:
        """How many are left."""
        return len(self) if self.alive is None else self.alive.count

    def without(self, rows: Integers) -> "Segment":
        """The segment after some rows (ascending; others may be among them) were removed."""
        gone = self.positions_of(rows)
        if not len(gone):
            return self
        dead = np.zeros(len(self), np.bool_) if self.dead is None else self.dead.copy()
        dead[gone] = True
        return replace(self, dead=dead, postings=self.postings.copied())

    def positions_of(self, rows: Integers) -> Integers:
        """Where those of the rows are that are here."""
        return places_among(rows, self.rows)

    def chosen(self, rows: Integers) -> Choice:
        """A choice of the living items in these rows."""
        mask = np.zeros(len(self), np.bool_)
        mask[self.positions_of(rows)] = True
        if self.dead is not None:
            mask &= ~self.dead
        return Choice(mask)

    def living_parts(self) -> tuple[Vectors, Integers, list[str]]:
        """Vectors, rows and ids of what is left."""
        places = np.arange(len(self)) if self.alive is None else self.alive.places
        vectors = self.vectors if self.alive is None else self.vectors[places]
        return vectors, self.rows[places], self.ids.take(places)


def joined(segments: Sequence[Segment]) -> Segment:
    """What is left of several segments, as one in memory."""
    parts = [segment.living_parts() for segment in segments]
    ids = [id for part in parts for id in part[2]]
    return Segment(concatenated([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), HeldIds(ids))


def appended(segments: Sequence[Segment], new: Segment) -> tuple[Segment, ...]:
    """Segments and one more; small ones in memory are joined, so that they stay few and each vector moves rarely."""
    result: list[Any] = [*segments, new]
    while len(result) > 1 and not result[-2].folded and len(result[-2]) < 2 * len(result[-1]):
        result[-2:] = [joined(result[-2:])]
    return tuple(result)
