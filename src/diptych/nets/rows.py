"""Rows to train on: where they come from, and batches of labelled and unlabelled ones, as functions of the step."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from diptych._core.arrays import Integers, Sparse
from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator


class RowSource(Protocol):
    """Rows that can be fetched by a tensor of whole numbers; a plain 2-d tensor is one."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def __getitem__(self, rows: Tensor, /) -> Tensor:
        """Return the rows as a dense matrix."""
        ...


class SparseRows:
    """Sparse counts that become dense only a batch at a time.

    Args:
        counts: one row an item.
        dtype: of the dense batches; the dtype of the network that reads them.
    """

    def __init__(self, counts: Sparse, dtype: torch.dtype = torch.float32) -> None:
        self.counts = counts
        self.dtype = dtype

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.counts.shape[0])

    def __getitem__(self, rows: Tensor, /) -> Tensor:
        """Return the rows as a dense matrix on the device of `rows`."""
        dense = torch.from_numpy(self.counts[rows.cpu().numpy()].toarray())
        return dense.to(device=rows.device, dtype=self.dtype)


def same_length(sources: Iterable[RowSource]) -> int:
    """Return the number of rows that all sources share.

    Raises:
        DataError: they differ, so row p is not the same item everywhere.
    """
    lengths = [len(source) for source in sources]
    if not lengths or len(set(lengths)) != 1:
        raise DataError(f"the inputs have {lengths} rows; give every input one row for each item.")
    return lengths[0]


def in_chunks(function: Callable[[Tensor], Tensor], source: RowSource, size: int = 1024) -> Tensor:
    """Apply a row-wise function to all rows, `size` at a time and without gradients."""
    device = source.device if isinstance(source, Tensor) else None
    with torch.no_grad():
        chunks = torch.split(torch.arange(len(source), device=device), size)
        return torch.cat([function(source[rows]) for rows in chunks])


@lru_cache(maxsize=64)
def _permutation(count: int, seed: int, purpose: str, epoch: int) -> Integers:
    return generator(seed, purpose, str(epoch)).permutation(count)


@dataclass(frozen=True)
class EpochStream:
    """Each epoch shows every row once, in an order of its own.

    Args:
        count: number of rows, at least one.
        seed: of the run.
        purpose: what the rows are for; streams of unlike purposes are independent.
    """

    count: int
    seed: int
    purpose: str

    def between(self, start: int, stop: int) -> Integers:
        """Return places `start` up to `stop` of the stream."""
        if stop <= start:
            return np.zeros(0, dtype=np.int64)
        first, last = start // self.count, (stop - 1) // self.count
        epochs = [_permutation(self.count, self.seed, self.purpose, epoch) for epoch in range(first, last + 1)]
        return np.concatenate(epochs)[start - first * self.count : stop - first * self.count]


class MixedBatch(NamedTuple):
    """Row numbers of one step.

    Attributes:
        labelled: rows of the labelled pool; the same documents in every modality.
        unlabelled: rows of each modality's unlabelled pool, by name; unless the batches are `paired`, row p of one
            modality and row p of another have nothing to do with each other.
    """

    labelled: Tensor
    unlabelled: dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class MixedBatches:
    """Labelled and unlabelled items in the proportion of their pools (CDMLMR, Huang and Peng 2017).

    Labelled items are drawn as documents, unlabelled ones independently in each modality, so that no pairing of
    unlabelled documents can leak. Each pool is shown in shuffled epochs laid end to end.

    Args:
        labelled: number of labelled documents.
        unlabelled: number of unlabelled items of each modality, by name; where it differs, the largest decides the
            proportion.
        batch_size: n, items of one modality in a batch; fewer where the pools are smaller.
        seed: of the run.
        balanced_by: class of each labelled document, to show all classes equally often; None shows all documents
            equally often.
        labelled_share: share of labelled documents in a batch; None for the proportion of the pools.
        paired: draw unlabelled documents instead of single items: the pools are equally long and in one order, and
            their pairing may be seen.
    """

    labelled: int
    unlabelled: Mapping[str, int]
    batch_size: int
    seed: int
    balanced_by: Integers | None = None
    labelled_share: float | None = None
    paired: bool = False

    def __post_init__(self) -> None:
        if self.labelled < 1:
            raise ConfigError("there are no labelled documents to train on; check the split and the labels.")
        if self.batch_size < 2:
            raise ConfigError(f"batch_size is {self.batch_size}; a batch needs at least two items.")
        if self.labelled_share is not None and not 0 < self.labelled_share < 1:
            raise ConfigError(f"labelled_share is {self.labelled_share}; it must lie between 0 and 1.")

    @property
    def sizes(self) -> tuple[int, int]:
        """Labelled and unlabelled items in a batch: at least one of each kind that exists."""
        pool = max(self.unlabelled.values(), default=0)
        size = min(self.batch_size, self.labelled + pool)
        if pool == 0:
            return size, 0
        share = self.labelled / (self.labelled + pool) if self.labelled_share is None else self.labelled_share
        # A kind that has too few items leaves its places to the other.
        documents = min(max(round(size * share), 1, size - pool), size - 1, self.labelled)
        return documents, size - documents

    def __call__(self, step: int) -> MixedBatch:
        """Return the rows of one step."""
        documents, singles = self.sizes
        labelled = self._documents(step * documents, (step + 1) * documents)
        return MixedBatch(
            torch.from_numpy(labelled),
            {name: torch.from_numpy(self._singles(name, step, singles)) for name in self.unlabelled},
        )

    def _singles(self, modality: str, step: int, size: int) -> Integers:
        pool = self.unlabelled[modality]
        if pool == 0:
            return np.zeros(0, dtype=np.int64)
        size = min(size, pool)
        purpose = "unlabelled pairs" if self.paired else f"unlabelled {modality}"
        return EpochStream(pool, self.seed, purpose).between(step * size, (step + 1) * size)

    def _documents(self, start: int, stop: int) -> Integers:
        if self.balanced_by is None:
            return EpochStream(self.labelled, self.seed, "labelled").between(start, stop)
        # Places of the stream go to the classes in turn, and each class has shuffled epochs of its own.
        classes = np.unique(self.balanced_by)
        parts = [
            self._members(label, _turns(start, turn, len(classes)), _turns(stop, turn, len(classes)))
            for turn, label in enumerate(classes.tolist())
        ]
        return np.concatenate(parts)

    def _members(self, label: int, start: int, stop: int) -> Integers:
        members = np.flatnonzero(self.balanced_by == label)
        return members[EpochStream(len(members), self.seed, f"labelled {label}").between(start, stop)]


def _turns(place: int, turn: int, every: int) -> int:
    """Return how many places before `place` leave the remainder `turn` when divided by `every`."""
    return (place - turn + every - 1) // every


def mixup_share(parameter: float, random: torch.Generator) -> float:
    """Draw from Beta(a, a) the share of the larger part, by Jöhnk's method, which needs uniform numbers alone."""
    while True:
        first, second = torch.rand(2, generator=random, device=random.device, dtype=torch.float64).tolist()
        x, y = first ** (1.0 / parameter), second ** (1.0 / parameter)
        if 0 < x + y <= 1:
            share = float(x / (x + y))
            return max(share, 1.0 - share)
