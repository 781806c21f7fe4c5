"""Read features and columns of any format: arrays, columns of CSV, TSV and Parquet tables, lines of text."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from diptych._core.arrays import Features, Floats
from diptych._core.errors import DataError
from diptych.data.importers.array_files import Reference, load_mat, load_npy, load_npz
from diptych.data.table_files import open_parquet
from diptych.data.tables import csv_records

Loaded = Features | Sequence[Any]
"""What a file holds before it is known what it is for: an array, or a list of cells."""
Line = tuple[int, list[str]]
"""A line's number in its file, counted from 1, and its cells."""

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_SHOWN = 12


def csv_matrix(reference: Reference) -> Floats:
    """Read the numbers of a table, an empty cell as NaN, streaming line by line."""
    header, width, lines = _open_csv(reference)
    chosen = list(range(width)) if reference.part is None else choose_columns(reference, header)
    numbers, rows = array("d"), 0
    for number, cells in lines:
        wanted = [cells[position] for position in chosen]
        try:
            numbers.extend([float(cell) if cell.strip() else np.nan for cell in wanted])
        except ValueError:
            culprit = next(cell for cell in wanted if cell.strip() and not _is_number(cell))
            raise DataError(
                f"{reference.path}, line {number}: {culprit!r} is not a number; "
                f"correct it, or choose the columns of numbers as in {reference.path.name}:PREFIX*."
            ) from None
        rows += 1
    if not rows:
        raise DataError(f"{reference.path} has no rows below its header; write it again.")
    return np.frombuffer(numbers, dtype=np.float64).reshape(rows, len(chosen))


def csv_column(reference: Reference) -> list[str | None]:
    """Read one column of a table as text; an empty cell is None."""
    header, width, lines = _open_csv(reference)
    position = choose_column(reference, header, width)
    return [cells[position].strip() or None for _, cells in lines]


def text_lines(reference: Reference) -> list[str | None]:
    """Read one value a line; an empty line is None."""
    reference.refuse_part()
    try:
        text = reference.path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{reference.path} is not UTF-8 text ({error}); save it as UTF-8.") from None
    return [line.strip() or None for line in text.splitlines()]


def _open_csv(reference: Reference) -> tuple[list[str] | None, int, Iterator[Line]]:
    """The header, if the first line is one, the number of columns, and the lines below, all of that width."""
    lines = _csv_lines(reference)
    first = next((line for line in lines if line[1]), None)
    if first is None:
        raise DataError(f"{reference.path} has no rows; write it again.")
    width = len(first[1])
    if any(cell.strip() and not _is_number(cell) for cell in first[1]):
        return [cell.strip() for cell in first[1]], width, _even(reference, lines, width)
    return None, width, _even(reference, chain([first], lines), width)


def _csv_lines(reference: Reference) -> Iterator[Line]:
    try:
        with reference.path.open(encoding="utf-8-sig", newline="") as handle:
            for number, cells in csv_records(handle, _SEPARATORS[reference.format]):
                if isinstance(cells, str):
                    raise DataError(f"{reference.path} is not a valid table: line {number} {cells}; write it again.")
                yield number, cells
    except UnicodeDecodeError as error:
        raise DataError(f"{reference.path} is not UTF-8 text ({error}); save it as UTF-8.") from None


def _even(reference: Reference, lines: Iterator[Line], width: int) -> Iterator[Line]:
    """Refuse lines of another width; a blank line is an empty cell of a single column, and nothing elsewhere."""
    for number, cells in lines:
        if not cells and width > 1:
            continue
        if (len(cells) or 1) != width:
            raise DataError(
                f"{reference.path}, line {number} has {len(cells)} cells where the first line has {width}; "
                "give every line the same number."
            )
        yield number, cells or [""]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def parquet_matrix(reference: Reference) -> np.ndarray:
    """Read the named columns, or all numeric ones; null is NaN."""
    with open_parquet(reference.path, str(reference.path)) as file:
        schema = file.schema_arrow
        names = numeric = [f.name for f in schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
        if reference.part is not None:
            names = [schema.names[position] for position in choose_columns(reference, schema.names)]
            text = [name for name in names if name not in numeric]
            if text:
                raise DataError(f"{reference.path}: column '{text[0]}' is not numeric; choose columns of numbers.")
        if not names:
            raise DataError(f"{reference.path} has no column of numbers; features need at least one.")
        table = file.read(columns=names)
    if not table.num_rows:
        raise DataError(f"{reference.path} has no rows; write it again.")
    return np.column_stack([table.column(name).to_numpy() for name in names])


def parquet_column(reference: Reference) -> list[Any]:
    """Read one column; null is None, and a list of names is several labels."""
    with open_parquet(reference.path, str(reference.path)) as file:
        names = file.schema_arrow.names
        name = names[choose_column(reference, names, len(names))]
        values: list[Any] = file.read(columns=[name]).column(name).to_pylist()
    return values


def choose_columns(reference: Reference, header: Sequence[str] | None) -> list[int]:
    """The columns a part such as `image_*` or `width,height` names, in the file's order."""
    if header is None:
        raise DataError(f"{reference.path} has no header line, so ':{reference.part}' names no column; add one.")
    patterns = [pattern.strip() for pattern in (reference.part or "*").split(",")]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in header):
            raise DataError(f"{reference.path} has no column '{pattern}'; it has {_listing(header)}.")
    return [i for i, name in enumerate(header) if any(fnmatchcase(name, pattern) for pattern in patterns)]


def choose_column(reference: Reference, header: Sequence[str] | None, width: int) -> int:
    """The single column a part names; a table of one column needs no name."""
    if reference.part is None and width == 1:
        return 0
    if reference.part is None:
        names = "" if header is None else f" ({_listing(header)})"
        raise DataError(f"{reference.path} has {width} columns{names}; name one, as in {reference.path.name}:label.")
    exact = [i for i, name in enumerate(header or ()) if name == reference.part]
    positions = exact or choose_columns(reference, header)
    if len(positions) != 1:
        raise DataError(f"{reference} fits {len(positions)} columns; name exactly one.")
    return positions[0]


def _listing(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown or "none"


_ARRAYS: dict[str, Callable[[Reference], Loaded]] = {"npy": load_npy, "npz": load_npz, "mat": load_mat}
_FEATURE_TABLES: dict[str, Callable[[Reference], Features]] = {
    "csv": csv_matrix,
    "tsv": csv_matrix,
    "parquet": parquet_matrix,
}
_COLUMN_TABLES: dict[str, Callable[[Reference], list[Any]]] = {
    "csv": csv_column,
    "tsv": csv_column,
    "txt": text_lines,
    "list": text_lines,
    "parquet": parquet_column,
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
    if reference.format not in _ARRAYS:
        known = ", ".join(sorted({*_ARRAYS, *tables}))
        raise DataError(f"{reference.path} is of a kind that cannot be read here; use one of: {known}.")
    return _ARRAYS[reference.format](reference)
