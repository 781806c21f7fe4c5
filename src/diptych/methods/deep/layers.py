"""Frozen layers: what is left of a trained network when it only has to encode, in NumPy and without torch."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from diptych._core.arrays import Features, Floats, Singles
from diptych._core.state import stateful

_ACTIVATIONS: dict[str, Callable[[Singles], Singles]] = {
    "sigmoid": expit,
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "linear": lambda x: x,
}


@stateful
@dataclass(frozen=True)
class DenseLayer:
    """activation(xW + b)."""

    weight: Singles
    bias: Singles
    activation: str

    def __call__(self, rows: Features) -> Singles:
        """Apply the layer to dense rows."""
        return _ACTIVATIONS[self.activation](np.asarray(rows, dtype=np.float32) @ self.weight + self.bias)


@stateful
@dataclass(frozen=True)
class CountLayer:
    """The way up through a Replicated Softmax: σ(N·c + gain·vW), v rescaled to N words if the length is fixed.

    Attributes:
        document_length: N for every document that has words; None takes each document's own number.
        gain: the factor of the weights on the way up.
    """

    weight: Singles
    bias: Singles
    gain: float
    document_length: int | None

    def __call__(self, counts: Features) -> Singles:
        """Apply the layer to counts, dense or sparse."""
        words = np.asarray(counts.sum(axis=1), dtype=np.float32).reshape(-1, 1)
        projected = np.asarray(counts @ self.weight, dtype=np.float32)
        if self.document_length is not None:
            projected *= self.document_length / np.maximum(words, 1e-10)
            words = (words > 0) * np.float32(self.document_length)
        return np.asarray(expit(words * self.bias + self.gain * projected), dtype=np.float32)


@stateful
@dataclass(frozen=True)
class Clip:
    """Tame heavy tails: keep values within ±limit."""

    limit: float

    def __call__(self, rows: Features) -> Floats:
        """Clip dense rows."""
        return np.asarray(np.clip(np.asarray(rows), -self.limit, self.limit))


@stateful
@dataclass(frozen=True)
class EqualLength:
    """Bring every row to one length, so that no item is louder than another."""

    length: float

    def __call__(self, rows: Features) -> Floats:
        """Scale dense rows; a row of zeros stays."""
        values = np.asarray(rows)
        return np.asarray(values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12) * self.length)


@stateful
@dataclass(frozen=True)
class Parallel:
    """Several chains over the same rows, their codes side by side."""

    chains: tuple["Chain", ...]

    def __call__(self, rows: Features) -> Singles:
        """Run every chain and join the columns."""
        return np.concatenate([run_chain(chain, rows) for chain in self.chains], axis=1)


Step = Callable[[Features], Features]
Chain = tuple[Step, ...]
"""What turns a modality's stored rows into its code, step after step: scalings and frozen layers."""


def run_chain(chain: Chain, rows: Features) -> Singles:
    """Send rows through a chain, as float32."""
    for step in chain:
        rows = step(rows)
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return np.ascontiguousarray(dense, dtype=np.float32)
