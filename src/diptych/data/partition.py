"""A part of a dataset: some of its items, their features, and the labels one is allowed to see."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from diptych.arrays import Booleans, Features, Integers, Strings
from diptych.data.labels import Labels
from diptych.errors import DataError


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
        if not self.has(modality).all():
            lacking = self.ids[int(np.argmin(self.has(modality)))]
            raise DataError(f"item '{lacking}' has no {modality}; ask for `having({modality!r})` first.")
        column = self.columns[modality]
        rows = column.row_of_item[self.index]
        if isinstance(column.values, np.ndarray):
            return np.asarray(column.values[rows])
        return sp.csr_array(column.values[rows])

    def with_labels(self, labels: Labels) -> "Partition":
        """The same items under other labels."""
        return Partition(self.index, self.ids, self.documents, labels, self.columns)
