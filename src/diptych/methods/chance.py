"""Codes that know nothing: the level every method has to leave below."""

from hashlib import shake_256

import numpy as np

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress
from diptych.data import TrainingData
from diptych.methods.base import Method


class Chance(Method):
    """Give every row a pseudo-random code in [−1, 1) drawn from its content, its modality and the seed.

    Equal rows get equal codes, so that embedding is deterministic, but a code says nothing of its row's class,
    pair or neighbours. Its retrieval scores scatter around the expectation of a random ranking; the scatter over
    seeds shows how far luck alone carries on a dataset.

    Args:
        dimensions: the length of a code.
        seed: which codes are drawn.

    Example:
        >>> from diptych.methods import create
        >>> create("chance", seed=3)
        Chance(seed=3)
    """

    stochastic = True
    max_modalities = None

    def __init__(self, dimensions: int = 16, seed: int = 0) -> None:
        self.dimensions = dimensions
        self.seed = seed

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        if self.dimensions < 1:
            raise ConfigError(f"dimensions is {self.dimensions}; it must be at least 1.")
        self.record_["chosen"] = {}

    def _embed(self, modality: str, rows: Features) -> Floats:
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        with np.errstate(over="ignore"):
            plain = np.ascontiguousarray(dense, dtype=np.float32) + np.float32(0)  # no -0.0, whose bytes differ
        key = f"{self.seed}\0{modality}\0".encode()
        words = b"".join(shake_256(key + row.tobytes()).digest(4 * self.dimensions) for row in plain)
        integers = np.frombuffer(words, dtype="<u4").reshape(len(plain), self.dimensions)
        return np.asarray(integers / 2.0**31 - 1.0)
