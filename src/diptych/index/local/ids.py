"""The ids of a segment, on disk or in memory."""

import mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Integers
from diptych.index.local.mapped import map_numbers, write_numbers

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
