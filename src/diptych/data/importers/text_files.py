"""Read CSV and TSV tables, with or without a header, and text files with one value a line."""

import csv
from array import array
from collections.abc import Iterator
from itertools import chain

import numpy as np

from diptych._core.arrays import Floats
from diptych._core.errors import DataError
from diptych.data.importers.columns import choose_column, choose_columns
from diptych.data.importers.references import Reference

_SEPARATORS = {"csv": ",", "tsv": "\t"}
Line = tuple[int, list[str]]
"""A line's number in its file, counted from 1, and its cells."""


def csv_matrix(reference: Reference) -> Floats:
    """Read the numbers of a table, an empty cell as NaN, streaming line by line."""
    header, width, lines = _open_table(reference)
    chosen = list(range(width)) if reference.part is None else choose_columns(reference, header)
    numbers, rows = array("d"), 0
    for number, cells in lines:
        wanted = [cells[position] for position in chosen]
        try:
            numbers.extend([float(cell) if cell.strip() else np.nan for cell in wanted])
        except ValueError:
            culprit = next(cell for cell in wanted if cell.strip() and not _is_number(cell))
            raise DataError(
                f"{reference.path}, line {number}: {culprit!r} is not a number; "
                f"correct it, or choose the columns of numbers as in {reference.path.name}:PREFIX*."
            ) from None
        rows += 1
    if not rows:
        raise DataError(f"{reference.path} has no rows below its header; write it again.")
    return np.frombuffer(numbers, dtype=np.float64).reshape(rows, len(chosen))


def csv_column(reference: Reference) -> list[str | None]:
    """Read one column of a table as text; an empty cell is None."""
    header, width, lines = _open_table(reference)
    position = choose_column(reference, header, width)
    return [cells[position].strip() or None for _, cells in lines]


def text_lines(reference: Reference) -> list[str | None]:
    """Read one value a line; an empty line is None."""
    reference.refuse_part()
    try:
        text = reference.path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{reference.path} is not UTF-8 text ({error}); save it as UTF-8.") from None
    return [line.strip() or None for line in text.splitlines()]


def _open_table(reference: Reference) -> tuple[list[str] | None, int, Iterator[Line]]:
    """The header, if the first line is one, the number of columns, and the lines below, all of that width."""
    lines = _lines(reference)
    first = next((line for line in lines if line[1]), None)
    if first is None:
        raise DataError(f"{reference.path} has no rows; write it again.")
    width = len(first[1])
    if any(cell.strip() and not _is_number(cell) for cell in first[1]):
        return [cell.strip() for cell in first[1]], width, _even(reference, lines, width)
    return None, width, _even(reference, chain([first], lines), width)


def _lines(reference: Reference) -> Iterator[Line]:
    try:
        with reference.path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.reader(handle, delimiter=_SEPARATORS[reference.format], strict=True)
            for cells in reader:
                yield reader.line_num, cells
    except UnicodeDecodeError as error:
        raise DataError(f"{reference.path} is not UTF-8 text ({error}); save it as UTF-8.") from None
    except csv.Error as error:
        raise DataError(f"{reference.path} is not a valid table ({error}); write it again.") from None


def _even(reference: Reference, lines: Iterator[Line], width: int) -> Iterator[Line]:
    """Refuse lines of another width; a blank line is an empty cell of a single column, and nothing elsewhere."""
    for number, cells in lines:
        if not cells and width > 1:
            continue
        if (len(cells) or 1) != width:
            raise DataError(
                f"{reference.path}, line {number} has {len(cells)} cells where the first line has {width}; "
                "give every line the same number."
            )
        yield number, cells or [""]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
