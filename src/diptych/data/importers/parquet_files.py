"""Read Parquet tables."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from diptych._core.errors import DataError
from diptych.data.importers.columns import choose_column, choose_columns
from diptych.data.importers.references import Reference


def parquet_matrix(reference: Reference) -> np.ndarray:
    """Read the named columns, or all numeric ones; null is NaN."""
    schema, _ = _read(reference, [])
    numeric = [f.name for f in schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    names = numeric
    if reference.part is not None:
        names = [schema.names[position] for position in choose_columns(reference, schema.names)]
        text = [name for name in names if name not in numeric]
        if text:
            raise DataError(f"{reference.path}: column '{text[0]}' is not numeric; choose columns of numbers.")
    if not names:
        raise DataError(f"{reference.path} has no column of numbers; features need at least one.")
    _, table = _read(reference, names)
    if not table.num_rows:
        raise DataError(f"{reference.path} has no rows; write it again.")
    return np.column_stack([table.column(name).to_numpy() for name in names])


def parquet_column(reference: Reference) -> list[Any]:
    """Read one column; null is None, and a list of names is several labels."""
    schema, _ = _read(reference, [])
    name = schema.names[choose_column(reference, schema.names, len(schema.names))]
    values: list[Any] = _read(reference, [name])[1].column(name).to_pylist()
    return values


def _read(reference: Reference, columns: list[str]) -> tuple[pa.Schema, pa.Table]:
    try:
        with pq.ParquetFile(reference.path) as file:
            return file.schema_arrow, file.read(columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{reference.path} cannot be read as Parquet ({error}); write it again.") from None
