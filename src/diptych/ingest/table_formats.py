"""Read a table of any of the usual formats into rows; a line that cannot be read is listed and the rest goes on."""

from collections.abc import Callable
from pathlib import Path

from diptych.errors import DataError
from diptych.ingest import delimited, json_lines, parquet_rows
from diptych.ingest.tables import Table

Reader = Callable[[Path, str | None], Table]

_READERS: dict[str, Reader] = {
    ".csv": delimited.read_csv,
    ".tsv": delimited.read_tsv,
    ".tab": delimited.read_tsv,
    ".jsonl": json_lines.read_json_lines,
    ".ndjson": json_lines.read_json_lines,
    ".parquet": parquet_rows.read_parquet,
}


def read_table(path: Path, encoding: str | None = None) -> Table:
    """Read a table by its file's ending.

    Args:
        path: a .csv, .tsv, .jsonl, .ndjson or .parquet file.
        encoding: of a text file; by default UTF-8, and Windows-1252 for a line that is not.
    """
    if path.suffix.lower() not in _READERS:
        raise DataError(
            f"{path} does not end like a table that can be read; give one of {', '.join(_READERS)} or a folder with a "
            "folder for each class."
        )
    try:
        table = _READERS[path.suffix.lower()](path, encoding)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); give another file.") from None
    if not table.rows:
        why = f" ({table.problems[0]})" if table.problems else ""
        raise DataError(f"{path} holds no row that can be read{why}; write it again.")
    return table
