"""Read arrays from files: NumPy `.npy` and `.npz`, SciPy's sparse `.npz` and MATLAB `.mat`; nothing is unpickled."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile
from zlib import error as ZlibError  # noqa: N812 - an exception class under a lower-case name

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Features
from diptych._core.errors import DataError, optional_package

_STARTS = (b"\x93NUMPY", b"PK")
_SPARSE_KEYS = {"format", "shape"}
_DAMAGE = (OSError, ValueError, EOFError, BadZipFile, ZlibError, KeyError, NotImplementedError, SyntaxError)


@dataclass(frozen=True)
class Reference:
    """A file and, where the format has parts, the variable, key or columns meant, as in `features.mat:I_tr`.

    Attributes:
        path: the file.
        part: what follows the colon; None means the whole file.
    """

    path: Path
    part: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.part is None else f"{self.path}:{self.part}"

    @property
    def format(self) -> str:
        """The file's suffix in lower case, without the dot."""
        return self.path.suffix.lower().lstrip(".")

    def refuse_part(self) -> None:
        """Say that this format has no parts to choose from."""
        if self.part is not None:
            raise DataError(f"{self.path} holds a single array, so ':{self.part}' cannot be chosen; leave it out.")


def parse_reference(text: str | Path) -> Reference:
    """Split `file:part`; a file whose own name has a colon is found as it is.

    Raises:
        DataError: when the file does not exist or is empty.
    """
    path, part = Path(text), None
    if not path.exists() and ":" in str(text):
        head, part = str(text).rsplit(":", 1)
        path = Path(head)
        if not part:
            raise DataError(f"{text} ends in a colon; name the variable or column after it.")
    require_file(path)
    return Reference(path, part)


def require_file(path: Path) -> None:
    """Refuse a path that is no file, or a file without content."""
    if path.is_dir():
        raise DataError(f"{path} is a folder; give the file inside it.")
    if not path.exists():
        raise DataError(f"{path} does not exist; check the path.")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty; write it again.")


def describe_files(paths: list[Path]) -> list[dict[str, Any]]:
    """The name, size and hash of each distinct source file, for the record in `dataset.json`."""
    return [_describe(path) for path in dict.fromkeys(paths)]


def _describe(path: Path) -> dict[str, Any]:
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, lambda: hashlib.blake2b(digest_size=16))
    return {"file": path.name, "bytes": path.stat().st_size, "blake2b": digest.hexdigest()}


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
            if reference.part is None and set(archive.files) >= _SPARSE_KEYS:
                handle.seek(0)
                return _load_sparse(handle)
            values: np.ndarray = archive[_chosen_array(reference, archive.files)]
            return values


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what NumPy, SciPy and zipfile raise over a bad file into one sentence."""
    with path.open("rb") as handle:
        if not handle.read(6).startswith(_STARTS):
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


def _chosen_array(reference: Reference, names: list[str]) -> str:
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


def load_mat(reference: Reference) -> Features | list[Any]:
    """Read one variable of a MATLAB file, old or v7.3: an array, a sparse matrix, or a list of strings."""
    matlab = optional_package("pymatreader", "reading MATLAB files", "matlab")
    path = reference.path
    try:
        shapes = {name: shape for name, shape, _ in matlab.whosmat(path)}
        name = _chosen_variable(reference, sorted(shapes))
        value = matlab.read_mat(path, variable_names=[name])[name]
        if isinstance(value, sp.csc_array | sp.csc_matrix):
            value.check_format(full_check=True)  # a damaged index would make SciPy read foreign memory
    except DataError:
        raise
    except Exception as error:  # SciPy and h5py raise a dozen kinds for a damaged file
        raise DataError(f"{path} cannot be read as a MATLAB file ({error}); write or download it again.") from None
    if isinstance(value, sp.csc_array | sp.csc_matrix):
        return sp.csr_array(value)
    if isinstance(value, list | str) or (isinstance(value, np.ndarray) and value.dtype.kind in "OU"):
        return _as_strings(reference, value)
    if not isinstance(value, np.ndarray | int | float | np.generic):
        raise DataError(f"{path}:{name} is a {type(value).__name__}; give a variable that is a matrix.")
    return np.asarray(value).reshape(shapes[name])  # the reader drops dimensions of length one


def _chosen_variable(reference: Reference, names: list[str]) -> str:
    listing = ", ".join(names) or "none"
    if reference.part is not None:
        if reference.part not in names:
            raise DataError(f"{reference.path} has no variable '{reference.part}'; it has {listing}.")
        return reference.part
    if len(names) != 1:
        raise DataError(
            f"{reference.path} has the variables {listing}; choose one as in {reference.path.name}:VARIABLE."
        )
    return names[0]


def _as_strings(reference: Reference, value: list[Any] | str | np.ndarray) -> list[str | None]:
    """The strings of a cell array or a char matrix; an empty cell is None."""
    cells = [value] if isinstance(value, str) else list(value)
    strings: list[str | None] = []
    for row, cell in enumerate(cells):
        if isinstance(cell, str):
            strings.append(cell.strip() or None)
        elif np.size(cell) == 0:
            strings.append(None)
        else:
            raise DataError(f"{reference}: cell {row} is no text; give a matrix of numbers or a cell array of text.")
    return strings
