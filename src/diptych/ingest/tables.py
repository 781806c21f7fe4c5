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
