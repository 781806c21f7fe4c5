"""Read CSV and TSV tables so that a line with a broken quote costs that line and no other."""

import csv
from pathlib import Path

from diptych.errors import DataError
from diptych.ingest.report import Problem
from diptych.ingest.tables import Row, Table
from diptych.ingest.text_lines import read_lines

_LONGEST_RECORD = 1000
"""How many lines one quoted record may span before its quote counts as broken."""


def read_csv(path: Path, encoding: str | None = None) -> Table:
    """Read a table with commas, or semicolons where its first line has more of them."""
    return _read(path, encoding, ",;")


def read_tsv(path: Path, encoding: str | None = None) -> Table:
    """Read a table with tabs."""
    return _read(path, encoding, "\t")


def _read(path: Path, encoding: str | None, separators: str) -> Table:
    text = read_lines(path, encoding)
    lines, problems = text.lines, list(text.problems)
    start = next((number for number, line in enumerate(lines) if line.strip()), None)
    if start is None:
        raise DataError(f"{path} is empty; give a table with a line of column names.")
    separator = max(separators, key=lines[start].count)
    header, used = _record(lines, start, separator)
    if isinstance(header, str):
        raise DataError(f"{path}: its line of column names {header}; write it again.")
    columns = tuple(name.strip() for name in header)
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise DataError(f"{path} has two columns named '{twice[0]}'; rename one.")
    rows: list[Row] = []
    at = start + used
    while at < len(lines):
        cells, used = _record(lines, at, separator)
        if not isinstance(cells, str) and cells and len(cells) != len(columns):
            cells = f"has {len(cells)} cells where there are {len(columns)} columns"
        if isinstance(cells, str):
            problems.append(Problem("row", f"{path.name}, line {at + 1}", cells))
            used = 1  # whatever the broken record seemed to swallow is read again
        elif cells:
            rows.append(Row(at + 1, {name: cell.strip() or None for name, cell in zip(columns, cells, strict=True)}))
        at += used
    return Table(path.name, columns, rows, problems)


def _record(lines: list[str], at: int, separator: str) -> tuple[list[str] | str, int]:
    """The cells of the record that starts at a line, or what is wrong with it, and how many lines it spans."""
    reader = csv.reader(lines[at : at + _LONGEST_RECORD], delimiter=separator, strict=True)
    try:
        return next(reader), reader.line_num
    except csv.Error as error:
        unclosed = "unexpected end" in str(error) or "expected after" in str(error)
        return "has a quote that is not closed" if unclosed else f"is not a valid record ({error})", 1
