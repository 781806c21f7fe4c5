"""What one modality of a dataset is: its kind, its rows, and the file that holds them.

Dense rows are kept as `.npy`, counts as a sparse `.npz`. Rows with blocks of both are kept dense: a memory map of 3,384
columns is read as fast as it is asked for, and a sparse file, a quarter of the size, would have to be read whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features
from diptych._core.errors import DataError

BlockKind = Literal["dense", "counts"]
Kind = str
"""What the columns of a row are: "dense" or "counts", or blocks of both such as "counts:3000+dense:384"."""

KINDS: tuple[BlockKind, ...] = get_args(BlockKind)
_CHUNK_ROWS = 8192
_LARGEST = float(np.finfo(np.float32).max)
_LARGEST_COUNT = np.float64(np.iinfo(np.int32).max)  # counts are stored as int32


@dataclass(frozen=True)
class KindBlock:
    """A run of columns of one kind.

    Attributes:
        kind: "dense" or "counts".
        start: the first column.
        stop: one past the last.
    """

    kind: BlockKind
    start: int
    stop: int

    @property
    def width(self) -> int:
        """How many columns it has."""
        return self.stop - self.start


def join_kinds(parts: Sequence[tuple[Kind, int]]) -> Kind:
    """The kind of rows put side by side, from the kind and the width of each part.

    >>> join_kinds([("counts", 3000), ("dense", 384)])
    'counts:3000+dense:384'
    >>> join_kinds([("dense", 10), ("dense", 20)])
    'dense'
    """
    blocks = [block for kind, width in parts for block in kind_blocks(kind, width)]
    kinds = {block.kind for block in blocks}
    return kinds.pop() if len(kinds) == 1 else "+".join(f"{block.kind}:{block.width}" for block in blocks)


def kind_blocks(kind: Kind, dimension: int) -> tuple[KindBlock, ...]:
    """The runs of columns that a kind names, in rows of so many columns.

    >>> [block.kind for block in kind_blocks("counts:2+dense:3", 5)]
    ['counts', 'dense']

    Raises:
        DataError: when the kind is unknown or its blocks have another width.
    """
    if kind in KINDS:
        return (KindBlock(kind, 0, dimension),)
    blocks: list[KindBlock] = []
    for part in kind.split("+"):
        name, _, width = part.partition(":")
        if name not in KINDS or not width.isdecimal() or int(width) < 1:
            raise DataError(
                f"the kind {kind!r} is unknown; it must be one of {', '.join(KINDS)}, or blocks such as "
                "'counts:3000+dense:384'."
            )
        start = blocks[-1].stop if blocks else 0
        blocks.append(KindBlock(name, start, start + int(width)))
    if blocks[-1].stop != dimension:
        raise DataError(f"the kind {kind!r} describes {blocks[-1].stop} columns, but there are {dimension}.")
    return tuple(blocks)


@dataclass(frozen=True)
class Modality:
    """The description of a modality in `dataset.json`.

    Attributes:
        name: how code and users call it: "image", "text", or any other word.
        kind: "dense" for real numbers, "counts" for non-negative whole numbers kept sparse, or blocks of both, which
            are kept dense (see `join_kinds`).
        dimension: the length of one row.
        items: how many items have this modality.
    """

    name: str
    kind: Kind
    dimension: int
    items: int

    @property
    def blocks(self) -> tuple[KindBlock, ...]:
        """The runs of columns of one kind."""
        return kind_blocks(self.kind, self.dimension)

    @property
    def file(self) -> str:
        """The file inside the dataset's folder that holds the rows of the items that have it."""
        return f"{self.name}.npz" if self.kind == "counts" else f"{self.name}.npy"


@dataclass(frozen=True)
class ModalityRows:
    """The rows of one modality, before they are written to a dataset.

    Attributes:
        kind: see `Modality`.
        values: one row for each item that has the modality, in item order.
        present: which items have it; None when all have.
        origin: where the rows came from, for error messages (a file name).
    """

    kind: Kind
    values: Features
    present: Booleans | None = None
    origin: str = "the given array"


def guess_kind(values: Features) -> Kind:
    """Sparse rows of non-negative whole numbers are counts; everything else is dense."""
    if not isinstance(values, sp.csr_array):
        return "dense"
    data = values.data
    whole = data.dtype.kind in "bu" or bool(np.all((data >= 0) & (data == np.floor(data))))
    return "counts" if whole else "dense"


def rows_with_numbers(values: Features) -> Booleans | None:
    """Which dense rows hold at least one number; None when no row can be without."""
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or not values.size:
        return None
    starts = range(0, len(values), _CHUNK_ROWS)
    return np.concatenate([~np.isnan(values[start : start + _CHUNK_ROWS]).all(axis=1) for start in starts])


def check_modality_name(name: str) -> None:
    """Refuse a name that could not name a file and a column of a dataset."""
    if not isinstance(name, str) or not name.isidentifier() or name in ("items", "dataset"):
        raise DataError(f"{name!r} cannot name a modality; use letters, digits and underscores, such as 'image'.")


def check_rows(name: str, rows: ModalityRows, ids: Sequence[str]) -> None:
    """Refuse a modality of the wrong shape, with non-finite values, or with impossible counts."""
    values, origin = rows.values, rows.origin
    if values.ndim != 2 or values.shape[1] == 0:
        raise DataError(
            f"{origin}: '{name}' has shape {values.shape}; it needs one row per item and at least one column."
        )
    try:
        blocks = kind_blocks(rows.kind, values.shape[1])
    except DataError as error:
        raise DataError(f"{origin}: modality '{name}': {error}") from None
    present = np.arange(len(ids)) if rows.present is None else np.flatnonzero(rows.present)
    if rows.present is not None and len(rows.present) != len(ids):
        raise DataError(
            f"{origin}: '{name}' says for {len(rows.present)} items whether they have it; there are {len(ids)}."
        )
    if values.shape[0] != len(present):
        raise DataError(
            f"{origin}: '{name}' has {values.shape[0]} rows but {len(present)} items have this modality; "
            "give exactly one row for each."
        )
    if not len(present):
        raise DataError(f"{origin}: no item has '{name}'; leave the modality out.")
    for start in range(0, values.shape[0], _CHUNK_ROWS):
        chunk = values[start : start + _CHUNK_ROWS]
        for block in blocks:
            part = chunk if len(blocks) == 1 else chunk[:, block.start : block.stop]
            wrong = first_wrong(part, counts=block.kind == "counts")
            if wrong is None:
                continue
            row, column, problem = wrong
            position = int(present[start + row])
            raise DataError(
                f"{origin}: row {position} (item '{ids[position]}'), column {block.start + column} of '{name}' "
                f"{problem}."
            )


def first_wrong(chunk: Features, *, counts: bool = False) -> tuple[int, int, str] | None:
    """The first offending entry of a chunk of rows: row, column and what is wrong with it."""
    entries = chunk if isinstance(chunk, np.ndarray) else chunk.data
    if entries.dtype.kind not in "buif":
        return 0, 0, f"is of type {entries.dtype}; features must be real numbers"
    problems = [(~np.isfinite(entries), "is {}: replace it, or leave the item's whole row of this modality out")]
    if entries.dtype.kind == "f" and entries.dtype.itemsize > 4:
        problems.append((np.abs(entries) > _LARGEST, "is {}: that is beyond what float32 can hold; scale the column"))
    if counts:
        problems += [
            (entries < 0, "is {}: a count cannot be negative; import it as dense instead"),
            (entries != np.floor(entries), "is {}: a count must be a whole number; import it as dense instead"),
            (entries > _LARGEST_COUNT, "is {}: that is beyond the largest count kept; import it as dense instead"),
        ]
    for mask, sentence in problems:
        if mask.any():
            first = int(np.argmax(mask))
            if isinstance(chunk, np.ndarray):
                row, column = (int(i) for i in np.unravel_index(first, chunk.shape))
            else:
                row = int(np.searchsorted(chunk.indptr, first, side="right")) - 1
                column = int(chunk.indices[first])
            return row, column, sentence.format(entries.reshape(-1)[first])
    return None


def to_stored(values: Features, kind: Kind) -> Features:
    """Bring rows to the form they are stored in: float32 or float64 when dense, canonical int32 when counts."""
    if kind == "counts":
        counts = sp.csr_array(values).astype(np.int32, copy=True)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        return counts
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    wide = dense.dtype.kind == "f" and dense.dtype.itemsize >= 8
    return np.ascontiguousarray(dense, dtype=np.float64 if wide else np.float32)


def write_rows(folder: Path, modality: Modality, values: Features) -> None:
    """Write rows that `to_stored` prepared."""
    if isinstance(values, np.ndarray):
        np.save(folder / modality.file, values, allow_pickle=False)
    else:
        sp.save_npz(folder / modality.file, values, compressed=False)


def read_rows(folder: Path, modality: Modality) -> Features:
    """Open a modality's rows: a read-only memory map when dense, a sparse array when counts.

    Counts are read whole: the parts of an archive start at odd addresses, where SciPy copies what it is given, and
    a damaged index can only be told by reading all of it.
    """
    path = folder / modality.file
    try:
        values: Features
        if modality.kind != "counts":
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        else:
            with path.open("rb") as handle:  # given a path, NumPy leaves a damaged archive open
                values = sp.csr_array(sp.load_npz(handle))
            values.check_format(full_check=True)  # a damaged index would make SciPy read foreign memory
    except FileNotFoundError:
        raise DataError(f"{path} is missing; restore it or import the dataset again.") from None
    except Exception as error:  # NumPy and zipfile raise a dozen kinds for a damaged file
        raise DataError(f"{path} cannot be read ({error}); restore it or import the dataset again.") from None
    expected = (modality.items, modality.dimension)
    if not isinstance(values, np.ndarray | sp.csr_array) or values.dtype.kind not in "buif":
        raise DataError(f"{path} holds something else than numbers; restore it or import the dataset again.")
    if values.shape != expected:
        raise DataError(f"{path} holds {values.shape} numbers but dataset.json says {expected}; import it again.")
    return values


def remapped(values: Features) -> Features:
    """Map the same rows again; rows that are not mapped from a file are returned as they are.

    What has been read through a map counts as this process's memory for as long as the map lives. Whoever walks
    through a large file maps it anew for each part, so that only one part is held at a time.
    """
    if not isinstance(values, np.memmap) or not isinstance(values.base, mmap):
        return values
    order: Literal["C", "F"] = "C" if values.flags.c_contiguous else "F"
    try:
        return np.memmap(values.filename, values.dtype, "r", values.offset, values.shape, order)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{values.filename} cannot be read ({error}); restore it or import the dataset again."
        ) from None
