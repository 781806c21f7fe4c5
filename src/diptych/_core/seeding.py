"""Seeds: everything random takes a generator made here, from a seed and the names of what it is for."""

import hashlib

import numpy as np

from diptych._core.errors import ConfigError


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """Return a generator that depends on the seed and on what it is for, and on nothing else.

    Two purposes under one seed give independent streams, so that adding a draw in one place
    never changes what another place draws.

    >>> bool(generator(0, "split").random() == generator(0, "split").random())
    True
    """
    if seed < 0:
        raise ConfigError(f"seed is {seed}; it must be zero or a positive whole number.")
    words = hashlib.blake2b("\0".join(purpose).encode(), digest_size=16).digest()
    return np.random.default_rng([seed, *np.frombuffer(words, dtype=np.uint32).tolist()])
