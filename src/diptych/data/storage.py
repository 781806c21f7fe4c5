"""Reading and writing one modality's file: dense rows as `.npy`, counts as a sparse `.npz`.

Rows with blocks of both are kept dense: a memory map of 3,384 columns is read as fast as it is asked for, and a sparse
file, a quarter of the size, would have to be read whole.
"""

from mmap import mmap
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Features
from diptych._core.errors import DataError
from diptych.data.modality import Kind, Modality


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
    if values.shape != expected:
        raise DataError(f"{path} holds {values.shape} numbers but dataset.json says {expected}; import it again.")
    return values


def mapped_anew(values: Features) -> Features:
    """The same rows under a memory map of their own; rows that are not mapped from a file are returned as they are.

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
