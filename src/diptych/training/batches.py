"""Which rows each step sees, as a pure function of the step."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from diptych.arrays import Integers
from diptych.errors import ConfigError
from diptych.seeding import generator


@lru_cache(maxsize=4)
def _permutation(count: int, seed: int, epoch: int) -> Integers:
    return generator(seed, "batches", str(epoch)).permutation(count)


@dataclass(frozen=True)
class BatchOrder:
    """Shuffled epochs laid end to end and cut into batches of equal size.

    A batch may end one epoch and begin the next, so every batch has exactly `batch_size` rows (or
    `count`, where there are fewer) and every epoch still shows each row exactly once.
    """

    count: int
    batch_size: int
    seed: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigError("there are no rows to train on; check the split and the labels of the dataset.")

    def rows(self, step: int) -> Integers:
        """Return the row numbers of one step."""
        size = min(self.batch_size, self.count)
        epoch, start = divmod(step * size, self.count)
        batch = _permutation(self.count, self.seed, epoch)[start : start + size]
        if len(batch) < size:
            rest = _permutation(self.count, self.seed, epoch + 1)[: size - len(batch)]
            batch = np.concatenate([batch, rest])
        return batch

    def __call__(self, step: int) -> torch.Tensor:
        """Return the row numbers of one step as a tensor."""
        return torch.from_numpy(self.rows(step).copy())
