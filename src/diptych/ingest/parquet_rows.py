"""Read the rows of a Parquet file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from diptych.errors import DataError
from diptych.ingest.tables import Row, Table


def read_parquet(path: Path, encoding: str | None = None) -> Table:
    """Read all columns that hold text, numbers or lists of these; binary ones are left out.

    Args:
        path: the file.
        encoding: not used; the format knows its own.
    """
    try:
        with pq.ParquetFile(path) as file:
            columns = [field.name for field in file.schema_arrow if _is_plain(field.type)]
            rows: list[Row] = []
            for batch in file.iter_batches(columns=columns):
                rows += [Row(len(rows) + 1 + number, cells) for number, cells in enumerate(batch.to_pylist())]
    except pa.ArrowException as error:
        raise DataError(f"{path} cannot be read as Parquet ({error}); write it again.") from None
    return Table(path.name, tuple(columns), rows)


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
    )
