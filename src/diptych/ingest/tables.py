"""A table on its way in: rows of named cells, and the lines that could not be read."""

from dataclasses import dataclass, field
from typing import Any

from diptych.ingest.report import Problem


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
    """

    origin: str
    columns: tuple[str, ...]
    rows: list[Row]
    problems: list[Problem] = field(default_factory=list)
