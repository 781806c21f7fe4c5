"""Shards: the rows of some items as one file, written whole or not at all, so that work can go on after any end."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features
from diptych._core.files import atomic_file


@dataclass(frozen=True)
class Shard:
    """What came of some items.

    Attributes:
        rows: one for each item that could be described, in order.
        present: which items could.
        reasons: for each that could not, why; empty strings for the others.
    """

    rows: Features
    present: Booleans
    reasons: tuple[str, ...]


def write_shard(path: Path, shard: Shard) -> None:
    """Write a shard; a reader sees all of it or nothing."""
    facts = {"present": shard.present, "reasons": np.array(shard.reasons, dtype=np.str_)}
    rows = shard.rows
    if isinstance(rows, np.ndarray):
        parts = {"rows": rows}
    else:
        parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **facts, **parts)


def read_shard(path: Path) -> Shard:
    """Read a shard that was written."""
    with np.load(path, allow_pickle=False) as stored:
        reasons = tuple(str(reason) for reason in stored["reasons"])
        if "rows" in stored:
            return Shard(stored["rows"], stored["present"], reasons)
        rows = sp.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=tuple(stored["shape"]))
        return Shard(rows, stored["present"], reasons)


def shard_path(folder: Path, modality: str, number: int) -> Path:
    """Where a modality's shard lies in the folder of shards."""
    return folder / f"{modality}-{number:06d}.npz"
