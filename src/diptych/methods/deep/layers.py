"""Frozen layers: a trained network as NumPy functions that embed without torch."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from diptych._core.arrays import Features, Floats, Singles
from diptych._core.state import stateful
from diptych.data.modality import BlockKind, Kind, KindBlock, kind_blocks

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
    """Keep values within ±limit."""

    limit: float

    def __call__(self, rows: Features) -> Floats:
        """Clip dense rows."""
        return np.asarray(np.clip(np.asarray(rows), -self.limit, self.limit))


@stateful
@dataclass(frozen=True)
class EqualLength:
    """Scale every row to the same length."""

    length: float

    def __call__(self, rows: Features) -> Floats:
        """Scale dense rows; a row of zeros stays."""
        values = np.asarray(rows)
        return np.asarray(values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12) * self.length)


@stateful
@dataclass(frozen=True)
class BranchOutputs:
    """The last frozen step: the branches' outputs put together, less their mean over the training items.

    Attributes:
        branches: the sigmoid layers that take part.
        combine: "concat", "mean" or "single", see `diptych.nets.pathways.representation`.
        centre: what is subtracted.
    """

    branches: tuple[DenseLayer, ...]
    combine: str
    centre: Singles

    def __call__(self, rows: Features) -> Singles:
        """Represent the outputs of a trunk."""
        outputs = [branch(rows) for branch in self.branches]
        if self.combine != "single":
            outputs = [each / np.maximum(np.linalg.norm(each, axis=1, keepdims=True), 1e-12) for each in outputs]
        together = np.mean(outputs, axis=0) if self.combine == "mean" else np.concatenate(outputs, axis=1)
        return np.asarray(together - self.centre, dtype=np.float32)


@stateful
@dataclass(frozen=True)
class Centred:
    """Subtract a fixed row from every row."""

    centre: Singles

    def __call__(self, rows: Features) -> Singles:
        """Subtract it."""
        return np.asarray(np.asarray(rows) - self.centre, dtype=np.float32)


@stateful
@dataclass(frozen=True)
class Parallel:
    """Several chains over the same rows, their embeddings side by side."""

    chains: tuple["Chain", ...]

    def __call__(self, rows: Features) -> Singles:
        """Run every chain and join the columns."""
        return np.concatenate([run_chain(chain, rows) for chain in self.chains], axis=1)


Step = Callable[[Features], Features]
Chain = tuple[Step, ...]
"""What turns a modality's stored rows into its embedding, step after step: scalings and frozen layers."""


def run_chain(chain: Chain, rows: Features) -> Singles:
    """Send rows through a chain, as float32."""
    for step in chain:
        rows = step(rows)
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return np.ascontiguousarray(dense, dtype=np.float32)


@stateful
@dataclass(frozen=True)
class Columns:
    """Take a range of columns."""

    start: int
    stop: int

    def __call__(self, rows: Features) -> Features:
        """Take the columns."""
        return rows[:, self.start : self.stop]


@stateful
@dataclass(frozen=True)
class Weighted:
    """Multiply every row by a number."""

    factor: float

    def __call__(self, rows: Features) -> Floats:
        """Multiply dense rows."""
        return np.asarray(rows) * self.factor


def prepare_blocks(rows: Features, kind: Kind, prepare: Callable[[Features, BlockKind], Chain]) -> Chain:
    """Prepare each block of columns by a chain of its own.

    Blocks are weighted so that each has the same total variance, all together as much as there are columns: a
    vocabulary of thousands of words does not drown an encoder's few hundred numbers.

    Args:
        rows: the training rows.
        kind: what their columns are.
        prepare: gives the chain of a block, from its training rows and its kind.
    """
    blocks = kind_blocks(kind, rows.shape[1])
    if len(blocks) == 1:
        return prepare(rows, blocks[0].kind)
    chains: list[Chain] = []
    for block in blocks:
        chain: Chain = (columns_of(block), *prepare(rows[:, block.start : block.stop], block.kind))
        variance = float(run_chain(chain, rows).var(axis=0, dtype=np.float64).sum())
        factor = float(np.sqrt(rows.shape[1] / len(blocks) / variance)) if variance > 0 else 1.0
        chains.append((*chain, Weighted(factor)))
    return (Parallel(tuple(chains)),)


def counts_block(kind: Kind, columns: int) -> KindBlock | None:
    """The first block of counts; None where there is none."""
    return next((block for block in kind_blocks(kind, columns) if block.kind == "counts"), None)


def columns_of(block: KindBlock) -> Columns:
    """The step that takes a block's columns."""
    return Columns(block.start, block.stop)
