"""A condition that many items meet: look at more results than asked for, and keep those that fit.

To learn which of a million items meet a condition takes SQLite a second; to learn it of the best hundred, nothing. A
view that has met the condition before knows the answer, so this is for the first time after a change.
"""

import sqlite3

from diptych._core.arrays import Singles
from diptych.index.filters import Condition
from diptych.index.local.reads import rows_among
from diptych.index.local.searching import Hits, Named, nearest

_TIMES = 8
_MOST_RESULTS = 10_000
_FEW = 20_000
"""So many items are asked about at once as quickly."""


def is_worth_it(segments: list[Named], queries: Singles, wanted: int) -> bool:
    """Whether asking about the best results only can save time."""
    looked_at = _TIMES * wanted * len(queries)
    return looked_at <= _MOST_RESULTS and sum(len(segment) for _, segment in segments) > _FEW


def overfetched(
    connection: sqlite3.Connection,
    condition: Condition,
    segments: list[Named],
    queries: Singles,
    k: int,
    offset: int,
    exact: bool = False,
) -> list[Hits] | None:
    """The results that fit, or None if too few of the best ones do; then all items must be asked about."""
    wanted = k + offset
    every = nearest(segments, None, queries, _TIMES * wanted, 0, exact)
    fit = rows_among(connection, condition, list({row for hits in every for row in hits.rows.tolist()}))
    result = []
    for hits in every:
        kept = [place for place, row in enumerate(hits.rows.tolist()) if row in fit][:wanted]
        if len(kept) < wanted:
            return None
        result.append(_at(hits, kept[offset:]))
    return result


def _at(hits: Hits, places: list[int]) -> Hits:
    ids, names = [hits.ids[place] for place in places], tuple(hits.modalities[place] for place in places)
    return Hits(ids, names, hits.scores[places], hits.rows[places])
