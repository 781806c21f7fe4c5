"""Search a view: candidates from every segment, exact scores, one order."""

from typing import NamedTuple

import numpy as np

from diptych._core.arrays import Integers, Singles
from diptych.index.local.candidates import candidates
from diptych.index.local.scoring import best_first, exact_scores
from diptych.index.local.segment import Choice, Segment

Named = tuple[str, Segment]
"""A segment and its modality."""


class Hits(NamedTuple):
    """The best candidates of one query, as ids and as rows in SQLite."""

    ids: list[str]
    modalities: tuple[str, ...]
    scores: Singles
    rows: Integers


def nearest(
    segments: list[Named], choices: list[Choice] | None, queries: Singles, k: int, offset: int, exact: bool = False
) -> list[Hits]:
    """The items from `offset` to `offset + k` in the order of each query."""
    found = [
        candidates(segment, queries, k + offset, segment.alive if choices is None else choices[number], exact)
        for number, (_, segment) in enumerate(segments)
    ]
    page = slice(offset, offset + k)
    if len(segments) == 1:
        return [
            _ranked(segments[0], positions, query, page) for positions, query in zip(found[0], queries, strict=True)
        ]
    return [_merged(segments, [part[row] for part in found], query, page) for row, query in enumerate(queries)]


def _ranked(named: Named, positions: Integers, query: Singles, page: slice) -> Hits:
    name, segment = named
    scores = exact_scores(segment.vectors, query, positions)
    order = best_first(scores, lambda columns: segment.ids.take(positions[columns]))[page]
    places = positions.take(order)
    return Hits(segment.ids.take(places), (name,) * len(places), scores.take(order), segment.rows.take(places))


def _merged(segments: list[Named], found: list[Integers], query: Singles, page: slice) -> Hits:
    """Rank the candidates of several segments, each of which only its first few can be of use."""
    whole = slice(0, page.stop)
    parts = [_ranked(named, positions, query, whole) for named, positions in zip(segments, found, strict=True)]
    ids = [id for part in parts for id in part.ids]
    names = [name for part in parts for name in part.modalities]
    rows = np.concatenate([np.empty(0, np.int64), *(part.rows for part in parts)])
    scores = np.concatenate([np.empty(0, np.float32), *(part.scores for part in parts)])
    order = best_first(scores, lambda columns: [ids[column] for column in columns.tolist()])[page]
    best = order.tolist()
    return Hits([ids[i] for i in best], tuple(names[i] for i in best), scores[order], rows[order])
