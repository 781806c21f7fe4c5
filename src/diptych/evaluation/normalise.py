"""Normalise representations before they are compared: a choice of protocol, recorded with the result.

"none" compares representations as they are. "eval-set" gives every column of one modality's evaluated rows
mean 0 and standard deviation 1; it looks at all evaluated items at once, though at no label. "train" does
the same with the training rows' statistics, so that one item can be scored alone.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from diptych.arrays import Booleans, Floats
from diptych.errors import ConfigError, DataError
from diptych.evaluation.checks import Rows

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
