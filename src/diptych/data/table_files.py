"""Read a table file of any of the usual formats: CSV, TSV, JSON, Parquet, or one of these compressed."""

import datetime
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from diptych._core.errors import DataError
from diptych.data.tables import Problem, Row, Table, decode_lines, read_csv, read_tsv
from diptych.media import is_media_name

_COMPRESSED = ".gz"
SPREADSHEETS = (".xlsx", ".xls", ".ods")
"""Spreadsheets, of which the first is a zip and no archive of images all the same."""
_MOST_BYTES = 4 * 2**30
"""What a compressed table may unpack to."""


@contextmanager
def open_parquet(source: Path | bytes, name: str, fix: str = "write it again") -> Iterator[pq.ParquetFile]:
    """Open a Parquet file.

    Args:
        source: its path or its content.
        name: of the file, for errors.
        fix: what to do about a damaged one.

    Raises:
        DataError: when it, or what the block reads of it, is damaged.
    """
    try:
        with pq.ParquetFile(source if isinstance(source, Path) else pa.BufferReader(source)) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{name} cannot be read as Parquet ({error}); {fix}.") from None


def read_parquet(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read all columns that hold texts, numbers, times or lists of these; others are left out and named.

    Args:
        name: the file's name, for reports.
        data: its content.
        encoding: not used; the format knows its own.
    """
    with open_parquet(data, name) as file:
        fields = list(file.schema_arrow)
        columns = [field.name for field in fields if _is_plain(field.type)]
        rows: list[Row] = []
        for batch in file.iter_batches(columns=columns):
            for cells in batch.to_pylist():
                rows.append(Row(len(rows) + 1, {column: _plain(cell) for column, cell in cells.items()}))
    problems = [
        Problem("note", f"{name}, column '{field.name}'", _unread(field.type))
        for field in fields
        if not _is_plain(field.type)
    ]
    return Table(name, tuple(columns), rows, problems, "row")


def _unread(kind: pa.DataType) -> str:
    """Why a column is left out."""
    inner = [kind.field(number).type for number in range(kind.num_fields)] if pa.types.is_struct(kind) else [kind]
    if any(pa.types.is_binary(each) or pa.types.is_large_binary(each) for each in inner):
        return "holds the files themselves, which are not read; save them as files and give a column of their names"
    return f"holds {kind}, which is not read; left out"


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


def read_json_lines(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read every line that holds an object; the columns are all keys met."""
    text = decode_lines(name, data, encoding)
    values = [(number, _json(line)) for number, line in enumerate(text.lines, start=1) if line.strip()]
    return _of_objects(name, values, text.problems, "line")


def read_json_table(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a list of objects, an object that holds one, the captions of COCO, or texts by the names of files.

    JSON lines under this name are read as such.

    Raises:
        DataError: when the file holds none of these.
    """
    text = decode_lines(name, data, encoding)
    value = _json("".join(text.lines))
    if isinstance(value, _Broken):
        lines = read_json_lines(name, data, encoding)
        if lines.rows:
            return lines
        raise DataError(f"{name} {value.reason}; write a list of objects, or one object a line.")
    held = value if isinstance(value, dict) else {"": value}
    lists = {key: of for key, of in held.items() if isinstance(of, list) and any(isinstance(each, dict) for each in of)}
    if {"images", "annotations"} <= lists.keys():
        objects: list[Any] = _with_captions(lists["images"], lists["annotations"])
    elif len(lists) == 1:
        objects = next(iter(lists.values()))
    elif not lists and held and all(is_media_name(key) for key in held):
        objects = [{"file": key} | (of if isinstance(of, dict) else {"text": of}) for key, of in held.items()]
    else:
        found = f"several lists of objects ({', '.join(lists)})" if lists else "no list of objects"
        raise DataError(f"{name} holds {found}; write [{{…}}, {{…}}], one object for each item.")
    return _of_objects(name, list(enumerate(objects, start=1)), text.problems, "entry")


def _with_captions(images: Sequence[Any], annotations: Sequence[Any]) -> list[Any]:
    """The images of COCO's format, each with the captions that annotations give it."""
    captions: dict[Any, list[Any]] = {}
    for each in annotations:
        if isinstance(each, dict) and isinstance(each.get("caption"), str):
            captions.setdefault(str(each.get("image_id")), []).append(each["caption"])
    return [
        image | {"captions": captions.get(str(image.get("id")), [])} if isinstance(image, dict) else image
        for image in images
    ]


@dataclass(frozen=True)
class _Broken:
    """What is wrong with a text that is no JSON."""

    reason: str


def _json(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return _Broken(f"is not valid JSON ({error})")


def _of_objects(name: str, values: Sequence[tuple[int, Any]], notes: Sequence[Problem], unit: str) -> Table:
    problems = list(notes)
    rows: list[Row] = []
    for number, value in values:
        if isinstance(value, dict):
            rows.append(Row(number, value))
            continue
        reason = value.reason if isinstance(value, _Broken) else f"holds a {type(value).__name__}, no object"
        problems.append(Problem("row", f"{name}, {unit} {number}", reason))
    columns = dict.fromkeys(chain.from_iterable(row.cells for row in rows))
    return Table(name, tuple(columns), rows, problems, unit)


_READERS: dict[str, Callable[[str, bytes, str | None], Table]] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".tab": read_tsv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json_table,
    ".parquet": read_parquet,
}


def is_table_name(name: str) -> bool:
    """Whether a file's name ends like that of a table.

    >>> is_table_name("Pairs.CSV.gz"), is_table_name("photo.jpg")
    (True, False)
    """
    return _suffix(name) in _READERS


def _suffix(name: str) -> str:
    """The suffix that gives a table's format, without that of a compressed file."""
    path = PurePosixPath(name.lower())
    return PurePosixPath(path.stem).suffix if path.suffix == _COMPRESSED else path.suffix


def read_table(path: Path, encoding: str | None = None) -> Table:
    """Read a table by its file's suffix.

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
        advice = "save it as CSV, or " if name.lower().endswith(SPREADSHEETS) else ""
        raise DataError(
            f"{name} does not end like a table that can be read; {advice}give one of {', '.join(_READERS)}, a folder "
            "or an archive of images."
        )
    if name.lower().endswith(_COMPRESSED):
        data = _unpacked(name, data)
    table = _READERS[_suffix(name)](name, data, encoding)
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
