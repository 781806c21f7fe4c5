"""The other columns of a table, kept with their types so that a search can be narrowed by them."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diptych.data.dataset import RESERVED_COLUMNS
from diptych.data.tables import Problem

MOST_BYTES = 10_000
"""A longer cell is left out."""

_SET_BY_DIPTYCH = frozenset((*RESERVED_COLUMNS, "media", "has_media", "text", "item", "modality"))
_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d{0,14})")
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,2})?")
_TRUTH = {"true": True, "false": False}


def kept_name(name: str, others: Sequence[str]) -> str:
    """The name under which a column is kept: its own, or a longer one where diptych uses that name itself.

    >>> kept_name("price", []), kept_name("text", []), kept_name("has_image", [])
    ('price', 'text_column', 'image_column')
    """
    plain = " ".join(name.replace('"', "'").replace("\\", "/").split()) or "column"
    plain = plain if not plain.startswith("has_") else f"{plain[4:]}_column"
    while plain in _SET_BY_DIPTYCH or plain in others:
        plain = f"{plain}_column"
    return plain


def typed_columns(rows: Sequence[Mapping[str, Any]], origin: str) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Bring the values of each column to one type: numbers, truth values, texts, or lists of texts.

    A column of texts that are all numbers becomes numbers, unless some begin with a zero that means something
    ("00123"). A column of several types becomes texts. Values of more than `MOST_BYTES` are left out.

    Args:
        rows: the other cells of each item, by column.
        origin: the table, for the notes.

    Returns:
        The same rows with values of one type, and what was left out.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    problems: list[Problem] = []
    columns: dict[str, list[Any]] = {}
    for name in names:
        values = [_plain(row.get(name)) for row in rows]
        long = [number for number, value in enumerate(values) if _size(value) > MOST_BYTES]
        for number in long:
            values[number] = None
        if long:
            reason = f"has {len(long):,} values of more than {MOST_BYTES:,} bytes, which are left out"
            problems.append(Problem("note", f"{origin}, column '{name}'", reason))
        if any(value is not None for value in values):
            columns[name] = _of_one_type(values)
    return [{name: columns[name][number] for name in columns} for number in range(len(rows))], problems


def _of_one_type(values: list[Any]) -> list[Any]:
    there = [value for value in values if value is not None]
    if all(isinstance(value, str) for value in there):
        return _read(values, there)
    if any(isinstance(value, list) for value in there):
        return [None if value is None else _as_list(value) for value in values]
    if all(isinstance(value, bool) for value in there) or all(type(value) is int for value in there):
        return values
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in there):
        return [None if value is None else float(value) for value in values]
    return [None if value is None else _as_text(value) for value in values]


def _read(values: list[Any], there: list[str]) -> list[Any]:
    """Texts as what they say: numbers where all are, truth values where all are."""
    readers: tuple[tuple[Callable[[str], bool], Callable[[str], Any]], ...] = (
        (lambda text: _WHOLE.fullmatch(text) is not None, int),
        (lambda text: _DECIMAL.fullmatch(text) is not None, float),
        (lambda text: text.lower() in _TRUTH, lambda text: _TRUTH[text.lower()]),
    )
    for fits, read in readers:
        if all(fits(text) for text in there):
            return [None if value is None else read(value) for value in values]
    return values


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a cell holds
    """A value that a column can hold; None where it says nothing."""
    if isinstance(value, str):
        return value.strip().encode("utf-8", errors="replace").decode("utf-8").replace("\0", "") or None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [inner for inner in map(_plain, value) if inner is not None] or None
    return None if value is None else json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)


def _size(value: Any) -> int:  # noqa: ANN401
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value.encode()) if isinstance(value, str) else 0


def _as_list(value: Any) -> list[str]:  # noqa: ANN401
    return [_as_text(inner) for inner in value] if isinstance(value, list) else [_as_text(value)]


def _as_text(value: Any) -> str:  # noqa: ANN401
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
