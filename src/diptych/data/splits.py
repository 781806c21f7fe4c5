"""Splits: as a column names them or drawn by seed, and the part of a dataset that one of them is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features, Integers, Strings
from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.data.labels import Labels
from diptych.data.modality import remapped

SPLITS = ("train", "val", "test")
_NAMES = {
    "train": ("train", "training", "trainset", "restrain", "trn", "train2014", "train2017"),
    "val": ("val", "valid", "validation", "dev", "development", "valset", "val2014", "val2017"),
    "test": ("test", "testing", "testset", "eval", "evaluation", "tst", "test2014", "test2017"),
}


def split_named(name: str) -> str | None:
    """The split that a word, or the name of a folder or a file, means; None when it means none.

    >>> split_named("Validation"), split_named("holiday")
    ('val', None)
    """
    plain = name.strip().lower()
    return next((split for split, names in _NAMES.items() if plain in names), None)


def read_split_words(cells: Sequence[Any], origin: str) -> list[str]:
    """Read the split of every item from a column of words.

    Raises:
        DataError: for a word that names no split.
    """
    splits: list[str] = []
    for row, cell in enumerate(cells):
        split = split_named(str(cell))
        if split is None:
            raise DataError(f"{origin}: row {row} has the split {cell!r}; use one of {', '.join(SPLITS)}.")
        splits.append(split)
    return splits


def split_documents(
    labels: Sequence[Sequence[str]], documents: Sequence[str], seed: int, val_share: float, test_share: float
) -> list[str]:
    """Split documents whole within each class, several labels counting as their first.

    Unlabelled documents stay in training where others have labels, for nothing can be measured on them.
    """
    stratum: dict[str, str | None] = {}
    for document, found in zip(documents, labels, strict=True):
        stratum[document] = stratum.get(document) or (found[0] if found else None)
    chosen = [document for document, name in stratum.items() if name is not None] or list(stratum)
    drawn = stratified_split([stratum[document] for document in chosen], seed, val_share, test_share)
    split_of = dict(zip(chosen, drawn.tolist(), strict=True))
    return [split_of.get(document, "train") for document in documents]


def stratified_split(
    strata: Sequence[str | None], seed: int, val_share: float = 0.1, test_share: float = 0.2
) -> Strings:
    """Give every item a split, with the same shares inside every stratum (class, or none).

    A stratum of at least three items has one in each split; a smaller one stays in training first.
    """
    if val_share < 0 or test_share < 0 or val_share + test_share >= 1:
        raise ConfigError(
            f"val share {val_share} and test share {test_share} must not be negative and must leave room for training."
        )
    splits = np.full(len(strata), "train", dtype="<U5")
    keys = np.array(["" if stratum is None else f"={stratum}" for stratum in strata])
    random = generator(seed, "split")
    for key in np.unique(keys):
        members = random.permutation(np.flatnonzero(keys == key))
        val, test = _quotas(len(members), val_share, test_share)
        splits[members[:test]] = "test"
        splits[members[test : test + val]] = "val"
    return splits


def _quotas(count: int, val_share: float, test_share: float) -> tuple[int, int]:
    """How many of a stratum's items go to validation and to test; training keeps at least one."""
    least_val, least_test = (int(share > 0 and count >= 3) for share in (val_share, test_share))
    test = min(max(round(test_share * count), least_test), count - 1 - least_val)
    val = min(max(round(val_share * count), least_val), count - 1 - test)
    return val, test


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
        documents: the document of each item; items of one document are partners of each other.
        labels: the labels that may be seen here; withheld ones are removed, not hidden.
        columns: the features of the whole dataset; only the rows of these items are returned.
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

    def having_two_of(self, *modalities: str) -> "Partition":
        """The items that have at least two of the named modalities: of two, those that have both; of one, that one."""
        counts = np.sum([self.has(modality) for modality in modalities], axis=0)
        return self.take(np.asarray(counts >= min(2, len(modalities))))

    def labelled(self) -> "Partition":
        """The items that have a label."""
        return self.take(self.labels.is_labelled)

    def features(self, modality: str) -> Features:
        """The rows of one modality, in item order; every item here must have it (see `having`)."""
        numbers = self._row_numbers(modality)
        return _chosen(self.columns[modality].values, numbers)

    def blocks(self, modality: str, rows: int = 8192) -> Iterator[Features]:
        """The rows that `features` returns, in blocks, so that memory does not grow with their number.

        Dense rows are read from disk block by block. Counts are already in memory, because their archive has to be read
        as a whole; blocks only avoid copies of them.

        Args:
            modality: which rows; every item here must have it.
            rows: how many at a time.
        """
        if rows < 1:
            raise DataError(f"a block of {rows} rows is none; ask for at least one.")
        numbers = self._row_numbers(modality)
        values = self.columns[modality].values
        parts = (numbers[start : start + rows] for start in range(0, len(numbers), rows))
        return (_chosen(remapped(values), part) for part in parts)

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
