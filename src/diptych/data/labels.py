"""Labels: none, one or several per item, as cells hold them and as a table of items and classes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Floats, Integers, Sparse
from diptych._core.errors import DataError

UNLABELLED = -1
"""The code of an item without a label, inside the program only: files say null."""

_EMPTY_WORDS = ("", "nan", "null")


@dataclass(frozen=True)
class Labels:
    """The labels of n items over C classes, as a sparse n × C indicator.

    An empty row is an unlabelled item. Items that share a class are relevant to each other.
    """

    matrix: Sparse
    classes: tuple[str, ...]

    @classmethod
    def from_codes(cls, codes: Iterable[int], classes: Sequence[str]) -> "Labels":
        """Build labels from one class number per item, `UNLABELLED` for none."""
        return cls.from_sets(([] if code == UNLABELLED else [int(code)] for code in codes), classes)

    @classmethod
    def from_sets(cls, sets: Iterable[int | Sequence[int]], classes: Sequence[str]) -> "Labels":
        """Build labels from the class numbers of each item, or from one number per item."""
        rows = [[int(row)] if isinstance(row, int | np.integer) else sorted(set(row)) for row in sets]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        columns = np.array([code for row in rows for code in row], dtype=np.int64)
        ones = np.ones(len(columns), dtype=np.bool_)
        return cls(sp.csr_array((ones, columns, starts), shape=(len(rows), len(classes))), tuple(classes))

    @classmethod
    def from_identity(cls, names: Sequence[str]) -> "Labels":
        """Make every distinct name a class of its own; for "is the item's own partner found"."""
        distinct, codes = np.unique(np.asarray(names), return_inverse=True)
        return cls.from_codes(codes.tolist(), [str(name) for name in distinct])

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @cached_property
    def per_item(self) -> Integers:
        """How many labels each item has."""
        return np.diff(self.matrix.indptr).astype(np.int64)

    @property
    def is_labelled(self) -> Booleans:
        """Which items have at least one label."""
        return np.asarray(self.per_item > 0)

    @property
    def is_single(self) -> bool:
        """Whether no item has more than one label."""
        return not bool(np.any(self.per_item > 1))

    @cached_property
    def codes(self) -> Integers:
        """The class number of each item, `UNLABELLED` for none; refuses items with several labels."""
        if not self.is_single:
            row = int(np.argmax(self.per_item > 1))
            raise DataError(
                f"item {row} carries {self.per_item[row]} labels, and this needs exactly one per item; "
                "use a method that takes several labels or keep one label per item."
            )
        codes = np.full(len(self), UNLABELLED, dtype=np.int64)
        codes[self.is_labelled] = self.matrix.indices
        return codes

    @cached_property
    def shares(self) -> Floats:
        """Each item's share in every class: one for its label, equal parts of one for several, zero without any."""
        return np.asarray(self.matrix.toarray() / np.maximum(self.per_item, 1)[:, None])

    def class_counts(self) -> Integers:
        """How many items carry each class."""
        return np.bincount(self.matrix.indices, minlength=len(self.classes)).astype(np.int64)

    def take(self, index: Integers | Booleans) -> "Labels":
        """The labels of some items, in the order asked for."""
        return Labels(sp.csr_array(self.matrix[index]), self.classes)

    def keep_only(self, mask: Booleans) -> "Labels":
        """Withhold the labels of every item outside the mask."""
        entries = np.repeat(mask, self.per_item)
        starts = np.concatenate([[0], np.cumsum(self.per_item * mask)])
        kept = (self.matrix.data[entries], self.matrix.indices[entries], starts)
        return Labels(sp.csr_array(kept, shape=self.matrix.shape), self.classes)

    def shared_with(self, others: "Labels") -> Booleans:
        """The n × m table of which of these items share a label with which of the others."""
        if self.is_single and others.is_single:
            mine, theirs = self.codes, others.codes
            return np.asarray((mine[:, None] == theirs[None, :]) & (mine != UNLABELLED)[:, None])
        product = self.matrix.astype(np.int32) @ others.matrix.astype(np.int32).T
        return np.asarray(product.toarray() > 0)

    def shared_counts(self, others: "Labels") -> Integers:
        """How many of the others share a label with each of these items, in little memory."""
        if self.is_single and others.is_single:
            counts = np.append(others.class_counts(), 0)  # the last entry answers for UNLABELLED
            return np.asarray(counts[self.codes])
        step = max(1, 10_000_000 // max(1, len(others)))
        blocks = [self.take(np.arange(i, min(i + step, len(self)))) for i in range(0, len(self), step)]
        return np.concatenate([block.shared_with(others).sum(axis=1) for block in blocks] or [np.zeros(0)]).astype(
            np.int64
        )


def label_cell(label: Any) -> Any:  # noqa: ANN401 - whatever an array holds
    """One item's label as plain Python values: a name, a number, a list of several, or None for an unlabelled item."""
    if isinstance(label, np.ndarray | np.generic):
        label = label.tolist()
    if isinstance(label, bytes):
        label = label.decode(errors="replace")  # as HDF5 and NumPy's fixed-width arrays hold names
    if isinstance(label, set | frozenset):
        label = sorted(label, key=str)
    if isinstance(label, list | tuple):
        return [label_cell(each) for each in label]
    is_missing = label != label if isinstance(label, float) else type(label).__name__ in ("NAType", "NaTType")
    return None if is_missing else label


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
            f"{origin}: row {row} has the label {text}, and a negative label means nothing; "
            f"leave it empty (None in Python) when the item has none, or import with --missing-label {text}."
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
