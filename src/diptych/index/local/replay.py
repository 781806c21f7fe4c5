"""Bring a view up to date from SQLite: forget what was removed, take up what is new."""

import sqlite3
from dataclasses import replace

import numpy as np

from diptych._core.arrays import Integers
from diptych.index.local.ids import HeldIds
from diptych.index.local.mapped import rows_of_blobs
from diptych.index.local.schema import State
from diptych.index.local.segment import Segment, appended, joined
from diptych.index.local.view import View

_AT_ONCE = 4_096


def replayed(connection: sqlite3.Connection, view: View, state: State, dimension: int) -> View:
    """The view at `state`, which the connection is at; `view` is of the same derived files."""
    partitions = dict(view.partitions)
    removed = _removed(connection, view.change)
    if len(removed):
        partitions = {name: _without(segments, removed) for name, segments in partitions.items()}
    if state.next_row > view.next_row:
        for name, segment in _added(connection, view.next_row, dimension).items():
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


def _added(connection: sqlite3.Connection, first: int, dimension: int) -> dict[str, Segment]:
    """One segment for each modality that has new rows; memory is taken once, at its final size."""
    # Without this word SQLite walks the whole index of modalities for the sake of the groups.
    counts = "SELECT modality, COUNT(*) FROM items NOT INDEXED WHERE row >= ? GROUP BY modality"
    fresh = {
        name: Segment(np.empty((count, dimension), np.float32), np.empty(count, np.int64), HeldIds([]))
        for name, count in connection.execute(counts, (first,))
    }
    ids: dict[str, list[str]] = {name: [] for name in fresh}
    rows = connection.execute(
        "SELECT row, id, modality, vector FROM items NOT INDEXED JOIN vectors USING (row) WHERE row >= ? ORDER BY row",
        (first,),
    )
    while block := rows.fetchmany(_AT_ONCE):
        for name in {modality for _, _, modality, _ in block}:
            mine = [(row, id, vector) for row, id, modality, vector in block if modality == name]
            place = slice(len(ids[name]), len(ids[name]) + len(mine))
            fresh[name].rows[place] = [row for row, _, _ in mine]
            rows_of_blobs([vector for _, _, vector in mine], fresh[name].vectors[place])
            ids[name] += [id for _, id, _ in mine]
    return {name: replace(segment, ids=HeldIds(ids[name])) for name, segment in fresh.items()}
