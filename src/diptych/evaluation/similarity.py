"""Check and normalise the rows that enter an evaluation, and compare them: cosine and dot product in float64.

Each caller computes with one BLAS thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from diptych._core.arrays import Floats, Integers
from diptych._core.errors import ConfigError, DataError
from diptych.data.labels import Labels

Rows = NDArray[np.floating]
"""Representations, one row an item, of any float width; ranking works in float64 whatever comes in."""


def check_rows(name: str, rows: Rows) -> None:
    """Refuse anything but a table of finite numbers, naming the first bad row."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "fiu":
        found = f"shape {rows.shape} and type {rows.dtype}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise DataError(f"{name} must be a table of numbers with one row per item, not {found}.")
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise DataError(f"row {int(np.argmin(finite))} of {name} holds a value that is not finite; embed it again.")


def check_labels(name: str, rows: Rows, labels: Labels) -> None:
    """Refuse labels that do not belong to these rows."""
    if len(labels) != len(rows):
        raise DataError(f"{name} has {len(rows)} rows but {len(labels)} labels; give every row its labels.")


def check_pair(queries: Rows, gallery: Rows, query_labels: Labels, gallery_labels: Labels) -> None:
    """Refuse queries and a gallery that cannot be compared with each other."""
    check_rows("queries", queries)
    check_rows("gallery", gallery)
    if queries.shape[1] != gallery.shape[1]:
        raise DataError(
            f"queries have {queries.shape[1]} dimensions and the gallery {gallery.shape[1]}; "
            "both must live in one common space."
        )
    check_labels("queries", queries, query_labels)
    check_labels("gallery", gallery, gallery_labels)
    if query_labels.classes != gallery_labels.classes:
        raise DataError("queries and gallery have different lists of classes; build both labels over one list.")


Normalisation = Literal["none", "eval-set", "train"]
NORMALISATIONS: tuple[Normalisation, ...] = ("none", "eval-set", "train")


@dataclass(frozen=True)
class ColumnStatistics:
    """The mean and the (population) standard deviation of each column; 1 where a column never varies."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, rows: Rows) -> "ColumnStatistics":
        """Take the statistics of some rows."""
        if not len(rows):
            raise DataError("there are no rows to take column statistics of; give at least one.")
        wide = np.asarray(rows, dtype=np.float64)
        lowest = wide.min(axis=0)
        constant = lowest == wide.max(axis=0)
        # The mean of equal numbers is often off by a rounding error, which the division would blow up.
        mean = np.where(constant, lowest, wide.mean(axis=0))
        deviation = wide.std(axis=0)
        return cls(mean, np.where(constant | (deviation == 0), 1.0, deviation))

    def standardise(self, rows: Rows) -> Floats:
        """Subtract the mean and divide by the standard deviation, column by column."""
        if rows.shape[1] != len(self.mean):
            raise DataError(f"rows have {rows.shape[1]} columns but the statistics {len(self.mean)}; they must agree.")
        return np.asarray((np.asarray(rows, dtype=np.float64) - self.mean) / self.deviation)


def normalise(rows: Rows, how: Normalisation, train: ColumnStatistics | None = None) -> Rows:
    """Normalise one modality's rows in the way named; "train" needs the training rows' statistics."""
    if how not in NORMALISATIONS:
        raise ConfigError(f"normalisation is {how!r}; choose one of {', '.join(NORMALISATIONS)}.")
    if how == "none":
        return rows
    if how == "eval-set":
        return ColumnStatistics.of(rows).standardise(rows)
    if train is None:
        raise ConfigError("normalisation 'train' needs the statistics of the training rows; give them.")
    return train.standardise(rows)


class _Limiter:
    """Hold the limit while any thread needs it; limits nested across threads would restore each other's."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._controller = ThreadpoolController()
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


@cache
def _limiter() -> _Limiter:
    return _Limiter()


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let every matrix product inside run on the calling thread."""
    limiter = _limiter()
    limiter.enter()
    try:
        yield
    finally:
        limiter.leave()


Similarity = Literal["cosine", "dot"]
SIMILARITIES: tuple[Similarity, ...] = ("cosine", "dot")


def unit_rows(rows: Rows) -> Floats:
    """Scale every row to length one; a zero row stays zero, so that its cosine to anything is 0.

    Each row is divided by its largest entry first: squares of very large or very small numbers
    would leave the range of floats.
    """
    scaled = np.array(rows, dtype=np.float64)
    largest = np.max(np.abs(scaled), axis=1, keepdims=True, initial=0.0)
    scaled /= np.where(largest == 0, 1.0, largest)
    length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    scaled /= np.where(length == 0, 1.0, length)
    return scaled


@dataclass(frozen=True)
class Gallery:
    """Gallery rows ready to be compared with queries.

    Equal rows are compared once and the result is copied: a matrix product rounds differently in
    different places of its result, which would break the tie between two identical items at random.

    Attributes:
        similarity: which similarity is meant.
        distinct: the distinct rows.
        copies: for each item the place of its row among the distinct ones; None where all rows are distinct.
    """

    similarity: Similarity
    distinct: Floats
    copies: Integers | None

    @classmethod
    def of(cls, rows: Rows, similarity: Similarity) -> "Gallery":
        """Prepare a gallery's rows."""
        if similarity not in SIMILARITIES:
            raise ConfigError(f"similarity is {similarity!r}; choose one of {', '.join(SIMILARITIES)}.")
        prepared = _prepare(rows, similarity)
        first, copies = _distinct_rows(prepared)
        if len(first) == len(prepared):
            return cls(similarity, prepared, None)
        return cls(similarity, prepared[first], copies)

    def __len__(self) -> int:
        return len(self.distinct) if self.copies is None else len(self.copies)

    def compare(self, queries: Rows, out: Floats | None = None) -> Floats:
        """Return the similarity of every query to every gallery item, in `out` if it is given."""
        prepared = _prepare(queries, self.similarity)
        with one_thread_each(), np.errstate(over="ignore", invalid="ignore"):
            table = np.matmul(prepared, self.distinct.T, out=out if self.copies is None else None)
        if self.similarity == "dot" and not np.isfinite(table).all():
            raise DataError("a dot product of queries and gallery exceeds the range of floats; scale the rows down.")
        return table if self.copies is None else np.take(table, self.copies, axis=1, out=out)


def _prepare(rows: Rows, similarity: Similarity) -> Floats:
    return unit_rows(rows) if similarity == "cosine" else np.asarray(rows, dtype=np.float64)


def _distinct_rows(rows: Floats) -> tuple[Integers, Integers]:
    """Where each distinct row first stands, and which of the distinct rows each row is."""
    if rows.shape[1] == 0:
        return np.zeros(min(1, len(rows)), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    plain = np.ascontiguousarray(rows + 0.0)  # adding zero turns -0.0, whose bytes differ, into 0.0
    content = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1]))).ravel()
    _, first, copies = np.unique(content, return_index=True, return_inverse=True)
    return first.astype(np.int64), copies.astype(np.int64)
