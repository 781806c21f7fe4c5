"""Read the rows of a Parquet file."""

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from diptych._core.errors import DataError
from diptych.ingest.report import Problem
from diptych.ingest.tables import Row, Table


def read_parquet(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read all columns that hold texts, numbers, times or lists of these; others are left out and named.

    Args:
        name: the file's name, for reports.
        data: its content.
        encoding: not used; the format knows its own.
    """
    try:
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            fields = list(file.schema_arrow)
            columns = [field.name for field in fields if _is_plain(field.type)]
            rows: list[Row] = []
            for batch in file.iter_batches(columns=columns):
                for cells in batch.to_pylist():
                    rows.append(Row(len(rows) + 1, {column: _plain(cell) for column, cell in cells.items()}))
    except pa.ArrowException as error:
        raise DataError(f"{name} cannot be read as Parquet ({error}); write it again.") from None
    problems = [
        Problem("note", f"{name}, column '{field.name}'", f"holds {field.type}, which is not read; left out")
        for field in fields
        if not _is_plain(field.type)
    ]
    return Table(name, tuple(columns), rows, problems, "row")


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_temporal(kind)
        or pa.types.is_decimal(kind)
    )


def _plain(cell: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    """A cell as JSON could hold it."""
    if isinstance(cell, list):
        return [_plain(inner) for inner in cell]
    if isinstance(cell, Decimal):
        return float(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, datetime.timedelta) else cell
