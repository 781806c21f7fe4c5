"""Tables: rows of named cells, read from CSV, TSV and JSON so that a line that cannot be read costs no other."""

import codecs
import csv
import io
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from diptych._core.errors import ConfigError, DataError

ProblemKind = Literal["row", "picture", "text", "note"]
"""As reports store it; "picture" is an image."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SECOND_GUESS = "cp1252"
_LONGEST_CELL = 16 * 2**20
_LONGEST_RECORD = 1000
"""How many lines one quoted record may span before its quote counts as broken."""


@dataclass(frozen=True)
class Problem:
    """Something that was left out or read with doubt.

    Attributes:
        kind: "row" for a line of a table, "picture" or "text" for an item's image or text, "note" for what was kept.
        where: the line, the file or the archive's member.
        reason: what is wrong with it.
    """

    kind: ProblemKind
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True)
class Row:
    """One line of a table: its number, counted from 1 as an editor does, and its cells by column."""

    number: int
    cells: dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes:
        origin: its file's name, for reports.
        columns: the names of its columns, in order.
        rows: the rows that could be read.
        problems: the lines that could not, and those read with doubt.
        unit: what its rows' numbers count: "line", "row" or "entry".
    """

    origin: str
    columns: tuple[str, ...]
    rows: list[Row]
    problems: list[Problem] = field(default_factory=list)
    unit: str = "line"

    def column(self, name: str) -> list[Any]:
        """The cells of one column; None where a row lacks it."""
        return [row.cells.get(name) for row in self.rows]

    def place(self, row: Row) -> str:
        """Where a row stands, for reports."""
        return f"{self.origin}, {self.unit} {row.number}"


@dataclass(frozen=True)
class TextLines:
    """Lines with their ends, and a note for each that was not in the expected encoding."""

    lines: list[str]
    problems: list[Problem]


def read_lines(path: Path, encoding: str | None = None) -> TextLines:
    """Read a file line by line; see `decode_lines`."""
    return decode_lines(path.name, path.read_bytes(), encoding)


def decode_lines(name: str, data: bytes, encoding: str | None = None) -> TextLines:
    """Decode a file's content line by line, so that one line in another encoding harms no other.

    A byte order mark tells UTF-16. Otherwise a line is UTF-8, or Windows-1252 with a note if it cannot be.

    Args:
        name: the file's name, for reports.
        data: its content.
        encoding: read all of it so; what does not fit is then an error.
    """
    if encoding is not None or data.startswith(_UTF_16):
        text = _decoded(name, data, encoding or "utf-16")
        return TextLines(list(io.StringIO(text, newline="")), [])
    lines, problems = [], []
    for number, raw in enumerate(data.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True), start=1):
        try:
            lines.append(raw.decode("utf-8"))
        except UnicodeDecodeError:
            lines.append(raw.decode(_SECOND_GUESS, errors="replace"))
            reason = "is not UTF-8 and was read as Windows-1252; name the encoding with --encoding if that is wrong"
            problems.append(Problem("note", f"{name}, line {number}", reason))
    return TextLines(lines, problems)


def _decoded(name: str, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise ConfigError(f"the encoding '{encoding}' is unknown; name one such as utf-8, cp1252 or gb18030.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not {encoding} text ({error}); name another encoding.") from None


def csv_records(lines: Iterable[str], separator: str, number: int = 1) -> Iterator[tuple[int, list[str] | str]]:
    """Read the records of a CSV text: the number of the line each starts at, and its cells or what is wrong with it.

    After a broken record reading goes on with the next line, so that a quote that is not closed swallows nothing. A
    blank line is a record without cells. Lines are read as they are needed.

    Args:
        lines: with their ends.
        separator: between cells.
        number: of the first line.
    """
    source = iter(lines)
    ahead: deque[str] = deque()

    def window() -> Iterator[str]:
        yield from list(ahead)
        while len(ahead) < _LONGEST_RECORD and (line := next(source, None)) is not None:
            ahead.append(line)
            yield line

    while True:
        if not ahead and (first := next(source, None)) is not None:
            ahead.append(first)
        if not ahead:
            return
        cells, used = _record(window(), separator)
        yield number, cells
        for _ in range(used):
            ahead.popleft()
        number += used


def _record(lines: Iterator[str], separator: str) -> tuple[list[str] | str, int]:
    """The cells of the record that starts at a line, or what is wrong with it, and how many lines it spans."""
    before = csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        return next(reader), reader.line_num
    except csv.Error as error:
        unclosed = "unexpected end" in str(error) or "expected after" in str(error)
        return "has a quote that is not closed" if unclosed else f"is not a valid record ({error})", 1
    finally:
        csv.field_size_limit(before)


def read_csv(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a table with commas, or semicolons, tabs or bars where its first line has more of them."""
    return _delimited(name, data, encoding, ",;\t|")


def read_tsv(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a table with tabs."""
    return _delimited(name, data, encoding, "\t")


def _delimited(name: str, data: bytes, encoding: str | None, separators: str) -> Table:
    text = decode_lines(name, data, encoding)
    problems = list(text.problems)
    start = next((number for number, line in enumerate(text.lines) if line.strip()), None)
    if start is None:
        raise DataError(f"{name} is empty; give a table with a line of column names.")
    records = csv_records(text.lines[start:], max(separators, key=text.lines[start].count), start + 1)
    _, header = next(records)
    if isinstance(header, str):
        raise DataError(f"{name}: its line of column names {header}; write it again.")
    columns = _column_names(name, header, problems)
    rows: list[Row] = []
    for number, cells in records:
        if not isinstance(cells, str) and cells and len(cells) != len(columns):
            cells = f"has {len(cells)} cells where there are {len(columns)} columns"
        if isinstance(cells, str):
            problems.append(Problem("row", f"{name}, line {number}", cells))
        elif cells:
            rows.append(Row(number, {key: cell.strip() or None for key, cell in zip(columns, cells, strict=True)}))
    return Table(name, columns, rows, problems)


def _column_names(name: str, header: list[str], problems: list[Problem]) -> tuple[str, ...]:
    """The names of the columns; one without a name, or with that of another, is named by its number."""
    columns: list[str] = []
    for number, written in enumerate(header, start=1):
        column = written.strip()
        while not column or column in columns:
            column = f"{column or 'column'} {number}"
        if column != written.strip():
            reason = f"has {'the name of another' if written.strip() else 'no name'} and is called '{column}'"
            problems.append(Problem("note", f"{name}, column {number}", reason))
        columns.append(column)
    return tuple(columns)


def read_json_lines(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read every line that holds an object; the columns are all keys met."""
    text = decode_lines(name, data, encoding)
    values = [(number, _json(line)) for number, line in enumerate(text.lines, start=1) if line.strip()]
    return _of_objects(name, values, text.problems, "line")


def read_json_table(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a list of objects, or an object that holds one such list; JSON lines under this name are read as such.

    Raises:
        DataError: when the file holds no list of objects.
    """
    text = decode_lines(name, data, encoding)
    value = _json("".join(text.lines))
    if isinstance(value, _Broken):
        lines = read_json_lines(name, data, encoding)
        if lines.rows:
            return lines
        raise DataError(f"{name} {value.reason}; write a list of objects, or one object a line.")
    held = value.values() if isinstance(value, dict) else [value]
    lists = [each for each in held if isinstance(each, list) and any(isinstance(entry, dict) for entry in each)]
    if len(lists) != 1:
        raise DataError(f"{name} holds no list of objects; write [{{…}}, {{…}}], one object for each item.")
    return _of_objects(name, list(enumerate(lists[0], start=1)), text.problems, "entry")


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
