"""Which rows each step sees and what it draws, as pure functions of the run's seed and the step."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from diptych._core.arrays import Integers
from diptych._core.errors import ConfigError
from diptych._core.seeding import generator


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


def step_seed(seed: int, step: int) -> int:
    """Return the seed of one step: unlike seeds for unlike steps, so no generator's state is ever saved."""
    return int.from_bytes(hashlib.blake2b(f"{seed} {step}".encode(), digest_size=8).digest(), "little") >> 1


def reseed(random: torch.Generator, seed: int, step: int) -> None:
    """Prepare the step's generator, and torch's own ones for layers that know no other, such as dropout."""
    value = step_seed(seed, step)
    random.manual_seed(value)
    torch.default_generator.manual_seed(value)
    if random.device.type == "cuda":
        torch.cuda.manual_seed(value)
    elif random.device.type == "mps":
        torch.mps.manual_seed(value)


@contextmanager
def reproducible(device: torch.device) -> Iterator[torch.Generator]:
    """Yield the generator of the steps; leave torch's own generators and switches as they were.

    Inside, torch uses algorithms that add in a fixed order, and warns where it has none.
    """
    was_strict = torch.get_deterministic_debug_mode()
    memory: Any = torch.utils.deterministic
    was_filling = memory.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else [], device_type="cuda"):
        try:
            torch.set_deterministic_debug_mode("warn")
            memory.fill_uninitialized_memory = False  # it would write every new tensor twice
            yield torch.Generator(device)
        finally:
            memory.fill_uninitialized_memory = was_filling
            torch.set_deterministic_debug_mode(was_strict)
