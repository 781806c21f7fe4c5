"""A part of a dataset: some of its items, their features, and the labels one is allowed to see."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features, Integers, Strings
from diptych._core.errors import DataError
from diptych.data.labels import Labels
from diptych.data.modality import mapped_anew


@dataclass(frozen=True)
class Column:
    """All rows of one modality, and for each item of the dataset its row, or -1 when it has none."""

    values: Features
    row_of_item: Integers

    @classmethod
    def of(cls, values: Features, present: Booleans) -> "Column":
        """Number the rows of the items that have the modality, in item order."""
        return cls(values, np.where(present, np.cumsum(present) - 1, -1).astype(np.int64))


@dataclass(frozen=True)
class Partition:
    """Items chosen from a dataset.

    Attributes:
        index: the items' positions in the dataset.
        ids: the items' ids.
        documents: what each item is a part of; items of one document are partners of each other.
        labels: the labels that may be seen here; withheld ones are gone, not hidden.
        columns: the features of the whole dataset, of which only these items' rows are handed out.
    """

    index: Integers
    ids: Strings
    documents: Strings
    labels: Labels
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.index)

    def has(self, modality: str) -> Booleans:
        """Which of these items have the modality."""
        if modality not in self.columns:
            raise DataError(f"there is no modality '{modality}'; there are {', '.join(self.columns)}.")
        return np.asarray(self.columns[modality].row_of_item[self.index] >= 0)

    def take(self, chosen: Integers | Booleans) -> "Partition":
        """Some of these items, by position or by mask."""
        return Partition(
            self.index[chosen],
            self.ids[chosen],
            self.documents[chosen],
            self.labels.take(chosen),
            self.columns,
        )

    def having(self, *modalities: str) -> "Partition":
        """The items that have all the named modalities."""
        return self.take(np.logical_and.reduce([self.has(modality) for modality in modalities]))

    def labelled(self) -> "Partition":
        """The items that have a label."""
        return self.take(self.labels.is_labelled)

    def features(self, modality: str) -> Features:
        """The rows of one modality, in item order; every item here must have it (see `having`)."""
        numbers = self._row_numbers(modality)
        return _chosen(self.columns[modality].values, numbers)

    def blocks(self, modality: str, rows: int = 8192) -> Iterator[Features]:
        """The rows that `features` returns, some at a time, so that memory does not grow with their number.

        Dense rows come from disk block by block. Counts are already in memory, for the archive they are stored in
        has to be read whole; of them only the copies are saved.

        Args:
            modality: which rows; every item here must have it.
            rows: how many at a time.
        """
        if rows < 1:
            raise DataError(f"a block of {rows} rows is none; ask for at least one.")
        numbers = self._row_numbers(modality)
        values = self.columns[modality].values
        parts = (numbers[start : start + rows] for start in range(0, len(numbers), rows))
        return (_chosen(mapped_anew(values), part) for part in parts)

    def with_labels(self, labels: Labels) -> "Partition":
        """The same items under other labels."""
        return Partition(self.index, self.ids, self.documents, labels, self.columns)

    def _row_numbers(self, modality: str) -> Integers:
        """Where the items' rows are, in item order."""
        present = self.has(modality)
        if not present.all():
            lacking = self.ids[int(np.argmin(present))]
            raise DataError(f"item '{lacking}' has no {modality}; ask for `having({modality!r})` first.")
        return np.asarray(self.columns[modality].row_of_item[self.index])


def _chosen(values: Features, rows: Integers) -> Features:
    """A copy of the rows at some places."""
    return np.asarray(values[rows]) if isinstance(values, np.ndarray) else sp.csr_array(values[rows])
