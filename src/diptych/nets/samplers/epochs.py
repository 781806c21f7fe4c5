"""An endless stream of row numbers: shuffled epochs laid end to end."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from diptych.arrays import Integers
from diptych.seeding import generator


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
