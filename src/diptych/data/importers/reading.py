"""Read features and columns from the files people have; nothing is ever unpickled."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Features
from diptych._core.errors import DataError
from diptych.data.importers import matlab_files, numpy_files, parquet_files, text_files
from diptych.data.importers.references import Reference

Loaded = Features | Sequence[Any]
"""What a file holds before it is known what it is for: an array, or a list of cells."""

_LOADERS: dict[str, Callable[[Reference], Loaded]] = {
    "npy": numpy_files.load_npy,
    "npz": numpy_files.load_npz,
    "mat": matlab_files.load_mat,
}
_FEATURE_TABLES: dict[str, Callable[[Reference], Features]] = {
    "csv": text_files.csv_matrix,
    "tsv": text_files.csv_matrix,
    "parquet": parquet_files.parquet_matrix,
}
_COLUMN_TABLES: dict[str, Callable[[Reference], list[Any]]] = {
    "csv": text_files.csv_column,
    "tsv": text_files.csv_column,
    "txt": text_files.text_lines,
    "list": text_files.text_lines,
    "parquet": parquet_files.parquet_column,
}


def read_features(reference: Reference) -> Features:
    """Read one modality: a two-dimensional array, memory-mapped where the format allows it, or a sparse one."""
    if reference.format in _FEATURE_TABLES:
        return _FEATURE_TABLES[reference.format](reference)
    values = _load(reference, _FEATURE_TABLES)
    if not isinstance(values, np.ndarray | sp.csr_array):
        raise DataError(f"{reference} holds text or a structure; features must be an array of numbers.")
    if values.dtype.kind not in "buif":
        raise DataError(f"{reference} holds values of type {values.dtype}; features must be real numbers.")
    if values.ndim != 2:
        raise DataError(f"{reference} has shape {values.shape}; features need one row per item and one column each.")
    return values


def read_column(reference: Reference) -> list[Any]:
    """Read one value per item: text, numbers, or None for an empty cell; a 0/1 table gives one row per item."""
    if reference.format in _COLUMN_TABLES:
        return _COLUMN_TABLES[reference.format](reference)
    values = _load(reference, _COLUMN_TABLES)
    if isinstance(values, sp.csr_array):
        values = values.toarray()
    if not isinstance(values, np.ndarray):
        return list(values)
    if values.dtype.kind not in "buifU":
        raise DataError(f"{reference} holds values of type {values.dtype}; give numbers or text.")
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    if values.ndim not in (1, 2):
        raise DataError(f"{reference} has shape {values.shape}; give one value per item.")
    rows: list[Any] = values.tolist()
    return rows


def _load(reference: Reference, tables: dict[str, Any]) -> Loaded:
    if reference.format not in _LOADERS:
        known = ", ".join(sorted({*_LOADERS, *tables}))
        raise DataError(f"{reference.path} is of a kind that cannot be read here; use one of: {known}.")
    return _LOADERS[reference.format](reference)
