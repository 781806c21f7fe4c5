"""Turn a column of cells into class names: numbers or names, one or several per item, or none."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from diptych._core.errors import DataError

_EMPTY_WORDS = ("", "nan", "null")


@dataclass(frozen=True)
class LabelColumn:
    """The class names of each item, and all classes in order."""

    names: list[list[str]]
    classes: list[str]


def read_labels(
    cells: Sequence[Any],
    origin: str,
    *,
    classes: Sequence[str] | None = None,
    separator: str | None = None,
    missing: str | None = None,
) -> LabelColumn:
    """Read one cell per item.

    An empty cell, null or NaN is an unlabelled item. A list is several labels; so is text cut at `separator`,
    and so is a row of zeros and ones, one column a class.

    Args:
        cells: what a file held.
        origin: the file, for errors.
        classes: the class names in order; numbers then count into them, from 0 or from 1.
        separator: what stands between several labels in one cell.
        missing: a value that means "no label", such as "-1".
    """
    if cells and all(isinstance(cell, list) and _is_indicator(cell) for cell in cells):
        return _from_indicator(cells, origin, classes)
    names = [_names_of(cell, row, origin, separator, missing) for row, cell in enumerate(cells)]
    distinct = {name for row in names for name in row}
    if classes is None:
        return LabelColumn(names, sorted(distinct, key=_numbers_first))
    if distinct and not distinct & set(classes) and all(name.isdigit() for name in distinct):
        return LabelColumn(_count_into(names, classes, origin), list(classes))
    for row, found in enumerate(names):
        unknown = [name for name in found if name not in classes]
        if unknown:
            raise DataError(
                f"{origin}: row {row} has the class '{unknown[0]}', which is not among the {len(classes)} known "
                f"classes ({', '.join(classes[:12])}); correct it or add the class."
            )
    return LabelColumn(names, list(classes))


def _names_of(cell: Any, row: int, origin: str, separator: str | None, missing: str | None) -> list[str]:  # noqa: ANN401
    if isinstance(cell, list | tuple):
        parts: list[Any] = list(cell)
    elif isinstance(cell, str) and separator:
        parts = cell.split(separator)
    else:
        parts = [cell]
    named = (_name(part, row, origin, missing) for part in parts)
    return list(dict.fromkeys(name for name in named if name is not None))


def _name(value: Any, row: int, origin: str, missing: str | None) -> str | None:  # noqa: ANN401
    """The class one value names, None for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    text = str(value).strip()
    if text.lower() in _EMPTY_WORDS or text == missing:
        return None
    number = _as_number(text)
    if number is None:
        return text
    if missing is not None and number == _as_number(missing):
        return None
    if number < 0:
        raise DataError(
            f"{origin}: row {row} has the label {text}, and a negative label says nothing; "
            f"leave it empty when the item has none, or pass missing_label={text} (--missing-label {text})."
        )
    if not number.is_integer():
        raise DataError(f"{origin}: row {row} has the label {text}; a label must be a whole number or a name.")
    return str(int(number))


def _as_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _numbers_first(name: str) -> tuple[bool, int, str]:
    return (not name.isdigit(), int(name) if name.isdigit() else 0, name)


def _count_into(names: list[list[str]], classes: Sequence[str], origin: str) -> list[list[str]]:
    """Replace numbers by the class they count to."""
    numbers = {int(name) for row in names for name in row}
    low, high, count = min(numbers), max(numbers), len(classes)
    if not (low == 0 and high < count) and not (low >= 1 and high == count):
        raise DataError(
            f"{origin}: the labels run from {low} to {high}, so it cannot be told how they count the {count} "
            "classes; number them from 0 or from 1, all in use, or write the names."
        )
    first = 0 if low == 0 else 1
    return [[classes[int(name) - first] for name in row] for row in names]


def _is_indicator(row: list[Any]) -> bool:
    return len(row) > 1 and all(isinstance(value, int | float | bool) and value in (0, 1) for value in row)


def _from_indicator(rows: Sequence[list[Any]], origin: str, classes: Sequence[str] | None) -> LabelColumn:
    width = len(rows[0])
    names = [str(code) for code in range(width)] if classes is None else list(classes)
    if len(names) != width:
        raise DataError(f"{origin} has {width} columns of labels but {len(names)} classes are named; name each.")
    return LabelColumn([[names[code] for code, value in enumerate(row) if value] for row in rows], names)
