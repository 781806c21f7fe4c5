"""Describe items: read, decode and extract them; what is broken is noted with its reason and the rest goes on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Booleans, Features
from diptych._core.errors import ConfigError
from diptych.features import Extractor
from diptych.ingest.row_cache import CachedExtractor, Keyed, content_key
from diptych.ingest.work_folder import Shard
from diptych.media import MediaError, MediaLimits, MediaSource, Place, media_kind, reopen_source

_BATCH = 16
_BATCH_BYTES = 48 * 2**20
"""How many decoded items, and how much of them, are held at a time."""


@dataclass(frozen=True)
class Broken:
    """An item that could not be read."""

    reason: str


def describe(extractor: Extractor[Any], units: Sequence[Any], read: Callable[[Any], Any]) -> Shard:
    """Extract the rows of units, a few decoded ones in memory at a time.

    Args:
        extractor: a fitted feature extractor.
        units: places of files, or texts.
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
    except Exception as error:  # whatever a library makes of a strange file must not end the work
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


@dataclass(frozen=True)
class FileReader:
    """Reads and decodes the files of one kind of media in a source; needs the kind's extra.

    Attributes:
        kind: of media.
        source: the folder or the archive.
        limits: to one file.
    """

    kind: str
    source: MediaSource
    limits: MediaLimits

    def read(self, place: Place) -> Any:  # noqa: ANN401 - what features take, or `Broken`
        """Read and decode one file."""
        return self._read(place, self._decoded)

    def read_keyed(self, place: Place, extractor: CachedExtractor) -> Keyed | Broken:
        """Read one file, and decode it unless all of its rows are known by its bytes."""
        found = self._read(place, lambda data: extractor.keyed(self.key(data), lambda: self._decoded(data)))
        assert isinstance(found, Keyed | Broken)
        return found

    def is_known(self, place: Place, extractor: CachedExtractor) -> bool:
        """Whether the rows of a file are in the cache; False where finding out costs as much as extracting them."""
        try:
            if place.size > self.limits.max_bytes or self.source.peek(place, 1) is None:
                return False
            return extractor.knows(self.key(self.source.read(place)))
        except OSError:
            return False

    def key(self, data: bytes) -> bytes:
        """The key of a file in the row cache."""
        limits = self.limits
        decisive = (limits.max_pixels,) if self.kind == "image" else (self.kind, limits.max_pixels, limits.max_seconds)
        return content_key(data, *decisive)

    def _decoded(self, data: bytes) -> Any:  # noqa: ANN401
        return media_kind(self.kind).load().decode(data, self.limits)

    def _read(self, place: Place, use: Callable[[bytes], Any]) -> Any:  # noqa: ANN401 - what `use` makes of the bytes
        most = self.limits.max_bytes
        if place.size > most:
            return Broken(f"the file has {place.size:,} bytes; at most {most:,} are allowed")
        try:
            return use(self.source.read(place))
        except MediaError as error:
            return Broken(str(error))
        except (OSError, MemoryError) as error:
            return Broken(f"cannot be read ({getattr(error, 'strerror', None) or error})")


@dataclass(frozen=True)
class FileStream:
    """Files decoded one at a time, as often as they are asked for; broken ones are passed over.

    Attributes:
        kind: of media.
        path: of the folder or the archive.
        source_kind: what that is.
        places: which files, in order.
        limits: to one file.
    """

    kind: str
    path: Path
    source_kind: str
    places: Sequence[Place]
    limits: MediaLimits

    restarts: ClassVar[bool] = True

    def __iter__(self) -> Iterator[Any]:
        with reopen_source(self.path, self.source_kind) as source:
            reader = FileReader(self.kind, source, self.limits)
            for place in self.places:
                item = reader.read(place)
                if not isinstance(item, Broken):
                    yield item

    def __length_hint__(self) -> int:
        return len(self.places)
