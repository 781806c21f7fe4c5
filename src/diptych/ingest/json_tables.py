"""Read JSON: one object a line, or one list of objects; their keys are the columns."""

import json
from collections.abc import Sequence
from typing import Any

from diptych._core.errors import DataError
from diptych.ingest.report import Problem
from diptych.ingest.tables import Row, Table
from diptych.ingest.text_lines import decode_lines


def read_json_lines(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read every line that holds an object; the columns are all keys met."""
    text = decode_lines(name, data, encoding)
    values = [(number, _value(line)) for number, line in enumerate(text.lines, start=1) if line.strip()]
    return _table(name, values, text.problems, "line")


def read_json(name: str, data: bytes, encoding: str | None = None) -> Table:
    """Read a list of objects, or an object that holds one such list; JSON lines under this name are read as such.

    Raises:
        DataError: when the file holds no list of objects.
    """
    text = decode_lines(name, data, encoding)
    value = _value("".join(text.lines))
    if isinstance(value, _Broken):
        lines = read_json_lines(name, data, encoding)
        if lines.rows:
            return lines
        raise DataError(f"{name} {value.reason}; write a list of objects, or one object a line.")
    found = records_of(value)
    if not found:
        raise DataError(f"{name} holds no list of objects; write [{{…}}, {{…}}], one object for each item.")
    return _table(name, list(enumerate(found, start=1)), text.problems, "entry")


def records_of(value: Any) -> Sequence[Any]:  # noqa: ANN401 - whatever JSON holds
    """The list of objects that a JSON value is or, as its only such value, holds; empty where there is none."""
    if isinstance(value, dict):
        lists = [held for held in value.values() if _is_records(held)]
        return lists[0] if len(lists) == 1 else ()
    return value if _is_records(value) else ()


def _is_records(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, list) and bool(value) and any(isinstance(entry, dict) for entry in value)


class _Broken:
    """What is wrong with a text that is no JSON."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def _value(text: str) -> Any:  # noqa: ANN401
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return _Broken(f"is not valid JSON ({error})")


def _table(name: str, values: Sequence[tuple[int, Any]], notes: Sequence[Problem], unit: str) -> Table:
    problems = list(notes)
    rows: list[Row] = []
    columns: dict[str, None] = {}
    for number, value in values:
        if isinstance(value, dict):
            columns |= dict.fromkeys(value)
            rows.append(Row(number, value))
            continue
        reason = value.reason if isinstance(value, _Broken) else f"holds a {type(value).__name__}, no object"
        problems.append(Problem("row", f"{name}, {unit} {number}", reason))
    return Table(name, tuple(columns), rows, problems, unit)
