"""Labels: none, one or several per item, and the question whether two items share one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Integers, Sparse
from diptych._core.errors import DataError

UNLABELLED = -1
"""The code of an item without a label, inside the program only: files say null."""


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
    def from_sets(cls, sets: Iterable[Sequence[int]], classes: Sequence[str]) -> "Labels":
        """Build labels from the class numbers of each item."""
        rows = [sorted(set(row)) for row in sets]
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
