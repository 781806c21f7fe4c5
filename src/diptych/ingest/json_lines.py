"""Read JSON lines: one object a line, whose keys are the columns."""

import json
from pathlib import Path
from typing import Any

from diptych.ingest.report import Problem
from diptych.ingest.tables import Row, Table
from diptych.ingest.text_lines import read_lines


def read_json_lines(path: Path, encoding: str | None = None) -> Table:
    """Read every line that holds an object; the columns are all keys met."""
    text = read_lines(path, encoding)
    problems = list(text.problems)
    rows: list[Row] = []
    columns: dict[str, None] = {}
    for number, line in enumerate(text.lines, start=1):
        if not line.strip():
            continue
        cells = _object(line)
        if isinstance(cells, str):
            problems.append(Problem("row", f"{path.name}, line {number}", cells))
            continue
        columns |= dict.fromkeys(cells)
        rows.append(Row(number, cells))
    return Table(path.name, tuple(columns), rows, problems)


def _object(line: str) -> dict[str, Any] | str:
    """The object of one line, or what is wrong with it."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"is not valid JSON ({error})"
    return value if isinstance(value, dict) else f"holds a {type(value).__name__} instead of an object"
