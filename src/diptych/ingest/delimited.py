"""Read CSV and TSV tables so that a line with a broken quote costs that line and no other."""

import csv

from diptych._core.errors import DataError
from diptych.ingest.report import Problem
from diptych.ingest.tables import Row, Table
from diptych.ingest.text_lines import decode_lines

_LONGEST_CELL = 16 * 2**20
_LONGEST_RECORD = 1000
"""How many lines one quoted record may span before its quote counts as broken."""


def read_csv(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a table with commas, or semicolons, tabs or bars where its first line has more of them."""
    return _read(name, data, encoding, ",;\t|")


def read_tsv(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a table with tabs."""
    return _read(name, data, encoding, "\t")


def _read(name: str, data: bytes, encoding: str | None, separators: str) -> Table:
    text = decode_lines(name, data, encoding)
    lines, problems = text.lines, list(text.problems)
    start = next((number for number, line in enumerate(lines) if line.strip()), None)
    if start is None:
        raise DataError(f"{name} is empty; give a table with a line of column names.")
    separator = max(separators, key=lines[start].count)
    header, used = _record(lines, start, separator)
    if isinstance(header, str):
        raise DataError(f"{name}: its line of column names {header}; write it again.")
    columns = _columns(name, header, problems)
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        rows = _rows(name, lines, start + used, separator, columns, problems)
    finally:
        csv.field_size_limit(before)
    return Table(name, columns, rows, problems)


def _rows(
    name: str, lines: list[str], at: int, separator: str, columns: tuple[str, ...], problems: list[Problem]
) -> list[Row]:
    """The rows from a line on; what is wrong with others is added to the problems."""
    rows: list[Row] = []
    while at < len(lines):
        cells, used = _record(lines, at, separator)
        if not isinstance(cells, str) and cells and len(cells) != len(columns):
            cells = f"has {len(cells)} cells where there are {len(columns)} columns"
        if isinstance(cells, str):
            problems.append(Problem("row", f"{name}, line {at + 1}", cells))
            used = 1  # whatever the broken record seemed to swallow is read again
        elif cells:
            rows.append(Row(at + 1, {key: cell.strip() or None for key, cell in zip(columns, cells, strict=True)}))
        at += used
    return rows


def _columns(name: str, header: list[str], problems: list[Problem]) -> tuple[str, ...]:
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


def _record(lines: list[str], at: int, separator: str) -> tuple[list[str] | str, int]:
    """The cells of the record that starts at a line, or what is wrong with it, and how many lines it spans."""
    reader = csv.reader(lines[at : at + _LONGEST_RECORD], delimiter=separator, strict=True)
    try:
        return next(reader), reader.line_num
    except csv.Error as error:
        unclosed = "unexpected end" in str(error) or "expected after" in str(error)
        return "has a quote that is not closed" if unclosed else f"is not a valid record ({error})", 1
