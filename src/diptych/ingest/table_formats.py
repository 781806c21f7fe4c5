"""Read a table of any of the usual formats into rows; a line that cannot be read is listed and the rest goes on."""

import gzip
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path, PurePosixPath

from diptych._core.errors import DataError
from diptych.ingest import delimited, json_tables, parquet_rows
from diptych.ingest.tables import Table

Reader = Callable[[str, bytes, str | None], Table]

_READERS: dict[str, Reader] = {
    ".csv": delimited.read_csv,
    ".tsv": delimited.read_tsv,
    ".tab": delimited.read_tsv,
    ".jsonl": json_tables.read_json_lines,
    ".ndjson": json_tables.read_json_lines,
    ".json": json_tables.read_json,
    ".parquet": parquet_rows.read_parquet,
}
_COMPRESSED = ".gz"
_MOST_BYTES = 4 * 2**30
"""What a compressed table may unpack to."""


def is_table_name(name: str) -> bool:
    """Whether a file's name ends like that of a table.

    >>> is_table_name("Pairs.CSV.gz"), is_table_name("photo.jpg")
    (True, False)
    """
    return table_ending(name) in _READERS


def table_ending(name: str) -> str:
    """The ending that tells a table's format, without that of a compressed file."""
    path = PurePosixPath(name.lower())
    return PurePosixPath(path.stem).suffix if path.suffix == _COMPRESSED else path.suffix


def read_table(path: Path, encoding: str | None = None) -> Table:
    """Read a table by its file's ending.

    Args:
        path: a .csv, .tsv, .jsonl, .ndjson, .json or .parquet file, or one of these compressed as .gz.
        encoding: of a text file; by default UTF-8, and Windows-1252 for a line that is not.
    """
    try:
        return parse_table(path.name, path.read_bytes() if is_table_name(path.name) else b"", encoding)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); give another file.") from None


def parse_table(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a table from its content.

    Raises:
        DataError: when the name does not tell the format, or no row can be read.
    """
    if not is_table_name(name):
        advice = "save it as CSV, or " if name.lower().endswith((".xlsx", ".xls", ".ods")) else ""
        raise DataError(
            f"{name} does not end like a table that can be read; {advice}give one of {', '.join(_READERS)}, a folder "
            "or an archive of images."
        )
    if name.lower().endswith(_COMPRESSED):
        data = _unpacked(name, data)
    table = _READERS[table_ending(name)](name, data, encoding)
    if not table.rows:
        why = f" ({table.problems[0]})" if table.problems else ""
        raise DataError(f"{name} holds no row that can be read{why}; write it again.")
    return table


def _unpacked(name: str, data: bytes) -> bytes:
    try:
        with gzip.open(BytesIO(data)) as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name} cannot be unpacked ({error}); compress it again.") from None
    if len(content) > _MOST_BYTES:
        raise DataError(f"{name} unpacks to more than {_MOST_BYTES:,} bytes; unpack it, or cut it into parts.")
    return content
