"""Randomness without memory: each step draws from a generator seeded by the run's seed and the step's number."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


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
