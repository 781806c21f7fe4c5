"""Read NumPy and SciPy files: `.npy`, `.npz` with named arrays, and sparse `.npz`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812 - an exception class under a lower-case name

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Features
from diptych._core.errors import DataError
from diptych.data.importers.references import Reference

_BEGINNINGS = (b"\x93NUMPY", b"PK")
_SPARSE_MARKS = {"format", "shape"}
_DAMAGE = (OSError, ValueError, EOFError, BadZipFile, ZlibError, KeyError, NotImplementedError, SyntaxError)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what NumPy, SciPy and zipfile raise over a bad file into one sentence."""
    with path.open("rb") as handle:
        if not handle.read(6).startswith(_BEGINNINGS):
            raise DataError(f"{path} is not a NumPy file (a pickle is never opened); save it with numpy.save or savez.")
    try:
        yield
    except DataError:
        raise
    except _DAMAGE as error:
        if any(word in str(error).lower() for word in ("pickle", "python objects")):
            raise DataError(
                f"{path} holds pickled Python objects, which are never opened; save it again as an array of numbers."
            ) from None
        raise DataError(f"{path} is damaged or not a NumPy file ({error}); write or download it again.") from None


def load_npy(reference: Reference) -> Features:
    """Open an `.npy` file as a read-only memory map."""
    reference.refuse_part()
    with _readable(reference.path):
        values = np.load(reference.path, mmap_mode="r", allow_pickle=False)
        if not isinstance(values, np.ndarray):
            raise DataError(f"{reference.path} is an archive under the ending .npy; rename it to .npz.")
        return values


def load_npz(reference: Reference) -> Features:
    """Read the sparse matrix of an `.npz` file, its only array, or the one named."""
    path = reference.path
    with _readable(path), path.open("rb") as handle:  # given a path, NumPy leaves a damaged archive open
        archive = np.load(handle, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise DataError(f"{path} is a single array under the ending .npz; rename it to .npy.")
        with archive:
            if reference.part is None and set(archive.files) >= _SPARSE_MARKS:
                handle.seek(0)
                return _load_sparse(handle)
            values: np.ndarray = archive[_choose(reference, archive.files)]
            return values


def _choose(reference: Reference, names: list[str]) -> str:
    path, part = reference.path, reference.part
    if part is None and len(names) != 1:
        raise DataError(f"{path} has the arrays {', '.join(names) or '(none)'}; choose one as in {path.name}:NAME.")
    if part is not None and part not in names:
        raise DataError(f"{path} has no array '{part}'; it has {', '.join(names) or 'none'}.")
    return part or names[0]


def _load_sparse(handle: IO[bytes]) -> sp.csr_array:
    values = sp.csr_array(sp.load_npz(handle))
    values.check_format(full_check=True)  # a damaged index would make SciPy read foreign memory
    return values
