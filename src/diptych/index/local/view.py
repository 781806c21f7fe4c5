"""Views: all vectors at one change number, which is what a search looks at.

A view never changes; a later one replaces it.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from diptych._core.arrays import Integers
from diptych.index.filters import Condition
from diptych.index.filters.sql import to_sqlite
from diptych.index.items import Metadata
from diptych.index.local.binary import VectorForm
from diptych.index.local.database import UNKNOWN, State, damaged, vector_sum
from diptych.index.local.graph import Settings
from diptych.index.local.rows import rows_meeting
from diptych.index.local.segments import Choice, HeldIds, Segment, appended, joined, rows_of_blobs

_REMEMBERED = 16
"""Conditions whose rows a view keeps; the same one is often asked with another query."""


_MOST_KEPT = 2**23
_EACH = 250
"""Bytes of an item's metadata beside its text, roughly."""


class KeptMetadata:
    """The metadata that searches of one view have read, as much as fits: the same items are found again and again."""

    def __init__(self) -> None:
        self._rows: dict[int, Metadata] = {}
        self._bytes = 0

    def of(self, rows: Iterable[int]) -> dict[int, Metadata]:
        """What is known of those rows that were read before."""
        kept = self._rows
        return {row: kept[row] for row in rows if row in kept}

    def keep(self, found: dict[int, Metadata], size: int) -> None:
        """Remember what was read, so many bytes; all else is forgotten when it becomes too much."""
        size += _EACH * len(found)
        if self._bytes + size > _MOST_KEPT:
            self._rows, self._bytes = {}, 0  # another dictionary: a thread may be reading the former one
        if size <= _MOST_KEPT:
            self._rows.update(found)
            self._bytes += size


@dataclass(frozen=True, eq=False)
class View:
    """The living and the dead at one moment.

    Attributes:
        change: the number of the last change in it.
        next_row: every row before it is in the view or removed.
        derived: the name of the derived files in force at that moment.
        damaged: whether those could not be read, so that all lies in memory.
        partitions: the segments of each modality.
        metadata: what was read of it.
    """

    change: int
    next_row: int
    derived: str
    damaged: bool
    partitions: dict[str, tuple[Segment, ...]]
    metadata: KeptMetadata = field(default_factory=KeptMetadata)
    _chosen: dict[object, dict[int, Choice]] = field(default_factory=dict)

    def segments(self, modality: str | None) -> list[tuple[str, Segment]]:
        """What a search has to look at."""
        if modality is not None:
            return [(modality, segment) for segment in self.partitions.get(modality, ())]
        return [(name, segment) for name, segments in self.partitions.items() for segment in segments]

    @property
    def unfolded(self) -> int:
        """How many changes of vectors the derived files do not know, or have to work around."""
        every = [segment for _, segment in self.segments(None)]
        recent = sum(len(segment) for segment in every if not segment.folded)
        return recent + sum(len(segment) - segment.living for segment in every if segment.folded)

    @property
    def folded(self) -> int:
        """How many vectors lie in derived files."""
        return sum(len(segment) for _, segment in self.segments(None) if segment.folded)

    def should_fold(self, settings: Settings) -> bool:
        """Whether the derived files should be written again."""
        return settings.too_many_recent(self.unfolded, self.folded)

    def remembers(self, condition: Condition) -> bool:
        """Whether it is known already which items meet a condition."""
        return _key(condition) in self._chosen

    def choices(
        self, connection: sqlite3.Connection, condition: Condition, segments: list[tuple[str, Segment]]
    ) -> list[Choice]:
        """Which items of each segment meet a condition; the connection must be at this view's change."""
        key = _key(condition)
        known = self._chosen.get(key)
        if known is None:
            if len(self._chosen) >= _REMEMBERED:
                self._chosen.clear()
            known = self._chosen[key] = self._choose(rows_meeting(connection, condition))
        return [known[id(segment)] for _, segment in segments]

    def _choose(self, rows: Integers) -> dict[int, Choice]:
        return {id(segment): segment.chosen(rows) for _, segment in self.segments(None)}


def _key(condition: Condition) -> object:
    """A key that distinguishes conditions; not themselves, because Python takes 1 and true as equal."""
    sql, parameters = to_sqlite(condition)
    return sql, tuple(parameters)


_AT_ONCE = 4_096


def replayed(connection: sqlite3.Connection, view: View, state: State, form: VectorForm) -> View:
    """The view at `state`, which the connection is at; `view` is of the same derived files."""
    partitions = dict(view.partitions)
    removed = _removed(connection, view.change)
    if len(removed):
        partitions = {name: _without(segments, removed) for name, segments in partitions.items()}
    if state.next_row > view.next_row:
        for name, segment in _added(connection, view.next_row, form).items():
            partitions[name] = appended(partitions.get(name, ()), segment)
    living = {name: segments for name, segments in partitions.items() if segments}
    return View(state.change, state.next_row, state.derived, view.damaged, living)


def _removed(connection: sqlite3.Connection, since: int) -> Integers:
    rows = connection.execute("SELECT row FROM removed WHERE change > ? ORDER BY row", (since,))
    return np.fromiter((row for (row,) in rows), np.int64)


def _without(segments: tuple[Segment, ...], removed: Integers) -> tuple[Segment, ...]:
    left = []
    for segment in (segment.without(removed) for segment in segments):
        if not segment.folded and 2 * segment.living < len(segment):
            segment = joined([segment])
        if segment.living:
            left.append(segment)
    return tuple(left)


def _added(connection: sqlite3.Connection, first: int, form: VectorForm) -> dict[str, Segment]:
    """Make one segment for each modality that has new rows; memory is taken once, at its final size."""
    # Without this word SQLite walks the whole index of modalities for the sake of the groups.
    counts = "SELECT modality, COUNT(*) FROM items NOT INDEXED WHERE row >= ? GROUP BY modality"
    fresh = {
        name: (np.empty((count, form.columns), form.dtype), np.empty(count, np.int64))
        for name, count in connection.execute(counts, (first,))
    }
    ids: dict[str, list[str]] = {name: [] for name in fresh}
    rows = connection.execute(
        "SELECT row, id, modality, vectors.vector, checksums.vector FROM items NOT INDEXED"
        " LEFT JOIN vectors USING (row) LEFT JOIN checksums USING (row) WHERE row >= ? ORDER BY row",
        (first,),
    )
    while block := rows.fetchmany(_AT_ONCE):
        for _, id, modality, vector, stored in block:
            if stored not in (UNKNOWN, vector_sum(id, modality, vector)):
                raise damaged(f"the vector of item {id!r} is not as it was written")
        for name in {modality for _, _, modality, _, _ in block}:
            mine = [(row, id, vector) for row, id, modality, vector, _ in block if modality == name]
            place = slice(len(ids[name]), len(ids[name]) + len(mine))
            fresh[name][1][place] = [row for row, _, _ in mine]
            rows_of_blobs([vector for _, _, vector in mine], fresh[name][0][place])
            ids[name] += [id for _, id, _ in mine]
    return {name: Segment(form.unpack(numbers), rows, HeldIds(ids[name])) for name, (numbers, rows) in fresh.items()}
