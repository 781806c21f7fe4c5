"""Rows whose columns are of several kinds: each block is prepared alone, and all are balanced."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Features, Floats
from diptych._core.state import stateful
from diptych.data.modality import BlockKind, Kind, KindBlock, kind_blocks
from diptych.methods.deep.layers import Chain, Parallel, run_chain


@stateful
@dataclass(frozen=True)
class Columns:
    """Some columns of every row."""

    start: int
    stop: int

    def __call__(self, rows: Features) -> Features:
        """Take the columns."""
        return rows[:, self.start : self.stop]


@stateful
@dataclass(frozen=True)
class Weighted:
    """Rows times one number."""

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
