"""Derived files: plain numbers and texts on disk, mapped into memory when they are read."""

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Singles

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


def rows_of_blobs(blobs: list[bytes], into: Singles) -> None:
    """Vectors as SQLite keeps them, put into rows of an array."""
    into[:] = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(into.shape)
