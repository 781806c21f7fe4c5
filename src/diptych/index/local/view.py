"""All vectors at one change number: what a search looks at. A view never changes; a later one takes its place."""

import sqlite3
from dataclasses import dataclass, field

from diptych._core.arrays import Integers
from diptych.index.filters import Condition, to_sqlite
from diptych.index.local.reads import rows_meeting
from diptych.index.local.segment import Choice, Segment
from diptych.index.local.settings import Settings

_REMEMBERED = 16
"""Conditions whose rows a view keeps; the same one is often asked with another query."""


@dataclass(frozen=True, eq=False)
class View:
    """The living and the dead at one moment.

    Attributes:
        change: the number of the last change in it.
        next_row: every row before it is in the view or removed.
        derived: the name of the derived files in force at that moment.
        damaged: whether those could not be read, so that all lies in memory.
        partitions: the segments of each modality.
    """

    change: int
    next_row: int
    derived: str
    damaged: bool
    partitions: dict[str, tuple[Segment, ...]]
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
    """What tells conditions apart; not themselves, for Python holds 1 and true for equal."""
    sql, parameters = to_sqlite(condition)
    return sql, tuple(parameters)
