"""Describe some items: what is broken is noted with its reason and the rest goes on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features
from diptych._core.errors import ConfigError
from diptych.features import Extractor
from diptych.ingest.shards import Shard

_BATCH = 16
_BATCH_BYTES = 48 * 2**20
"""How many decoded items, and how much of them, are held at a time."""


@dataclass(frozen=True)
class Broken:
    """An item that could not be read."""

    reason: str


def describe(extractor: Extractor[Any], units: Sequence[Any], read: Callable[[Any], Any]) -> Shard:
    """Rows of units, a few decoded ones in memory at a time.

    Args:
        extractor: a fitted feature.
        units: places of pictures, or texts.
        read: gives a unit's item, or `Broken`.
    """
    parts: list[Features] = []
    reasons = [""] * len(units)
    for numbers, items in _batches(units, read, reasons):
        parts.append(_rows(extractor, numbers, items, reasons))
        del items  # before the next ones are decoded
    present = np.array([not reason for reason in reasons], dtype=np.bool_)
    if not parts:
        parts = [extractor([])]
    return Shard(stacked(parts), present, tuple(reasons))


def stacked(parts: Sequence[Features]) -> Features:
    """Rows of several parts, all dense or all sparse, one below the other."""
    dense = [part for part in parts if isinstance(part, np.ndarray)]
    if dense:
        return np.concatenate(dense)
    return sp.csr_array(sp.vstack([part for part in parts if not isinstance(part, np.ndarray)], format="csr"))


def _batches(
    units: Sequence[Any], read: Callable[[Any], Any], reasons: list[str]
) -> Iterator[tuple[list[int], list[Any]]]:
    """Items that could be read, a few at a time; the others' reasons are noted."""
    numbers: list[int] = []
    items: list[Any] = []
    held = 0
    for number, unit in enumerate(units):
        item = read(unit)
        if isinstance(item, Broken):
            reasons[number] = item.reason
            continue
        numbers.append(number)
        items.append(item)
        held += getattr(item, "nbytes", 0)
        if len(items) == _BATCH or held > _BATCH_BYTES:
            yield numbers, items
            numbers, items, held = [], [], 0
    if items:
        yield numbers, items


def _rows(extractor: Extractor[Any], numbers: list[int], items: list[Any], reasons: list[str]) -> Features:
    """The rows of a batch; if it fails, one by one to find the item at fault."""
    try:
        rows = extractor(items)
    except ConfigError:
        raise
    except Exception as error:  # whatever a library makes of a strange picture must not end the work
        if len(items) == 1:
            reasons[numbers[0]] = f"cannot be described ({type(error).__name__}: {error})"
            return extractor([])
        singles = [_rows(extractor, [number], [item], reasons) for number, item in zip(numbers, items, strict=True)]
        return stacked(singles)
    finite = _finite(rows)
    for position in np.flatnonzero(~finite):
        reasons[numbers[position]] = "its features hold a value that is not finite"
    return rows if finite.all() else rows[np.flatnonzero(finite)]


def _finite(rows: Features) -> Booleans:
    if isinstance(rows, np.ndarray):
        return np.asarray(np.isfinite(rows).all(axis=1))
    return np.ones(rows.shape[0], dtype=np.bool_)
