"""Check and normalise the rows and labels that enter an evaluation."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Booleans, Floats
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
        lowest, constant = wide.min(axis=0), _constant(wide)
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


def _constant(rows: Floats) -> Booleans:
    return np.asarray(rows.max(axis=0) == rows.min(axis=0))
