"""Read MATLAB files, old and v7.3."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from pymatreader import read_mat, whosmat

from diptych._core.arrays import Features
from diptych._core.errors import DataError
from diptych.data.importers.references import Reference


def load_mat(reference: Reference) -> Features | list[Any]:
    """Read one variable of a MATLAB file: an array, a sparse matrix, or a list of strings."""
    path = reference.path
    try:
        shapes = {name: shape for name, shape, _ in whosmat(path)}
        name = _choose(reference, sorted(shapes))
        value = read_mat(path, variable_names=[name])[name]
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


def _choose(reference: Reference, names: list[str]) -> str:
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
