"""Search a view by words: BM25 of the items that hold a term, the best of them first.

Rare terms come first. Once so many items are found that no item without a rare term can be among the best, however
well the frequent ones suit it, the frequent ones are only looked up for what was found: a word that stands everywhere
costs no more than the rare ones beside it. The result is the same.

"""

import heapq
import sqlite3
from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from diptych._core.arrays import Booleans, Floats, Integers, Singles
from diptych.index.filters import Condition
from diptych.index.local.neighbours import Ranked, best_first
from diptych.index.local.postings import Posting
from diptych.index.local.rows import rows_among
from diptych.index.local.segments import Segment
from diptych.index.local.view import View
from diptych.index.terms import idf

_TIMES = 8
_FEW = 20_000
"""So many items are asked at once whether they meet a condition; of an index with more, those that hold a term."""
_ROUNDING = 1 - 1e-6
"""Scores are rounded to single precision; what is this near to the last one wanted stays."""

Terms = Mapping[str, float]
"""The terms of a query with their weights."""
Read = list[dict[str, Posting]]
"""The postings of some terms in each segment of a view."""


def known_postings(view: View, queries: list[dict[str, float]]) -> Read | None:
    """The postings that some queries need, or None if SQLite must be asked for some."""
    terms = {term for query in queries for term in query}
    found = []
    for _, segment in view.segments(None):
        known = segment.postings.known(terms)
        if known is None:
            return None
        found.append(known)
    return found


def read_postings(connection: sqlite3.Connection, view: View, queries: list[dict[str, float]]) -> Read:
    """The same, asking SQLite where needed; the connection must be at this view's change."""
    terms = {term for query in queries for term in query}
    return [segment.postings.read(connection, terms, segment.rows) for _, segment in view.segments(None)]


class _Gain(NamedTuple):
    """A posting, what its term adds to the score of an item at most, and for each place."""

    posting: Posting
    most: float
    weight: float
    impacts: Singles


class WordSearch:
    """The searches of a view by words whose postings were read."""

    def __init__(self, view: View, read: Read, modality: str | None) -> None:
        self._view, self._modality = view, modality
        self._all = list(zip(view.segments(None), read, strict=True))
        self._entries, self._mean = _statistics([segment for (_, segment), _ in self._all])

    def hits(
        self, connection: sqlite3.Connection | None, terms: Terms, condition: Condition | None, k: int, offset: int
    ) -> Ranked:
        """The items from `offset` to `offset + k` in the order of their scores, equal ones by id.

        Args:
            connection: at the view's change; needed where there is a condition.
            terms: of the query.
            condition: which the items must meet.
            k: how many.
            offset: from where.
        """
        if condition is None or connection is None:
            return self._best(terms, None, k, offset)
        found = None
        many = sum(len(segment) for (_, segment), _ in self._all) > _FEW
        if many and not self._view.remembers(condition):
            found = self._meeting(connection, terms, condition, k, offset)
        if found is None:
            choices = self._view.choices(connection, condition, [named for named, _ in self._all])
            found = self._best(terms, [choice.mask for choice in choices], k, offset)
        return found

    def _meeting(
        self, connection: sqlite3.Connection, terms: Terms, condition: Condition, k: int, offset: int
    ) -> Ranked | None:
        """The best items that meet a condition, or None if it is quicker to ask which items of the index do."""
        matched = sum(self._holding(term) for term in terms)
        for looked_at in (_TIMES * (k + offset), matched + 1):
            if looked_at > _FEW:
                break
            hits = self._best(terms, None, looked_at, 0)
            rows = hits.rows.tolist()
            fit = rows_among(connection, condition, rows)
            kept = [place for place, row in enumerate(rows) if row in fit][: k + offset]
            if len(kept) == k + offset or len(rows) < looked_at:
                kept = kept[offset:]
                names = tuple(hits.modalities[place] for place in kept)
                return Ranked([hits.ids[place] for place in kept], names, hits.scores[kept], hits.rows[kept])
        return None

    def _best(self, terms: Terms, masks: list[Booleans] | None, k: int, offset: int) -> Ranked:
        weights = self._weights(terms)
        ids: list[str] = []
        names: list[str] = []
        values: list[Singles] = [np.empty(0, np.float32)]
        rows: list[Integers] = [np.empty(0, np.int64)]
        for number, ((name, segment), known) in enumerate(self._all):
            if self._modality not in (None, name):
                continue
            gains = self._gains(segment, known, weights)
            mask = None if segment.alive is None else segment.alive.mask
            places, scores = _best_places(len(segment), gains, masks[number] if masks else mask, k + offset)
            places, rounded, found = _first(segment, places, scores, k + offset)
            ids += found
            names += [name] * len(found)
            values.append(rounded)
            rows.append(segment.rows[places])
        every = np.concatenate(values)
        order = best_first(every, lambda columns: [ids[column] for column in columns.tolist()])[offset : k + offset]
        listed = order.tolist()
        best_ids, best_names = [ids[place] for place in listed], tuple(names[place] for place in listed)
        return Ranked(best_ids, best_names, every[order], np.concatenate(rows)[order])

    def _weights(self, terms: Terms) -> list[tuple[str, float]]:
        """Terms by rarity, each with weight and idf in one number; those that are held by the same items are one."""
        weights: dict[tuple[int, ...], tuple[int, str, float]] = {}
        for term in sorted(terms):
            holding = self._holding(term)
            weight = terms[term] * idf(self._entries, holding)
            key = tuple(id(known[term]) for _, known in self._all)
            _, first, before = weights.get(key, (holding, term, 0.0))
            weights[key] = holding, first, before + weight
        return [(term, weight) for holding, term, weight in sorted(weights.values()) if holding]

    def _holding(self, term: str) -> int:
        count = 0
        for (_, segment), known in self._all:
            places = known[term].places
            count += len(places) if segment.alive is None else int(np.count_nonzero(segment.alive.mask[places]))
        return count

    def _gains(self, segment: Segment, known: dict[str, Posting], weights: list[tuple[str, float]]) -> list[_Gain]:
        lengths = segment.postings.lengths
        assert lengths is not None  # read with the postings
        gains = []
        for term, weight in weights:
            impacts, most = known[term].impacts(lengths, self._mean)
            gains.append(_Gain(known[term], most * weight, weight, impacts))
        return gains


def _best_places(count: int, gains: list[_Gain], mask: Booleans | None, wanted: int) -> tuple[Integers, Floats]:
    """Places that hold a term with their scores, among them the best so many; `mask` says which may be found.

    Every score is summed in the order of the terms, however many are wanted, so that pages fit together.
    """
    total = np.zeros(count)
    found: list[Integers] = []
    many = 0
    rest = [*accumulate((gain.most for gain in reversed(gains)), initial=0.0)][::-1]
    for number, gain in enumerate(gains):
        places = gain.posting.places
        if wanted <= many < len(places):
            near = np.concatenate(found)
            scores = total[near]
            least = np.partition(scores, many - wanted)[many - wanted] * _ROUNDING
            if rest[number] < least:
                kept = scores + rest[number] >= least
                return near[kept], _looked_up(near[kept], scores[kept], gains[number:])
        before = total[places]
        new = places[before == 0]
        if mask is not None:
            new = new[mask[new]]
        found.append(new)
        many += len(new)
        total[places] = before + gain.weight * gain.impacts
    near = np.concatenate([np.empty(0, np.int64), *found])
    return near, total[near]


def _looked_up(near: Integers, scores: Floats, gains: list[_Gain]) -> Floats:
    """The scores of some places after the last terms, each of which is looked up for these places alone."""
    for gain in gains:
        places = gain.posting.places
        at = np.minimum(np.searchsorted(places, near.astype(places.dtype)), len(places) - 1)
        there = places[at] == near
        scores[there] += gain.weight * gain.impacts[at[there]]
    return scores


def _first(segment: Segment, places: Integers, scores: Floats, wanted: int) -> tuple[Integers, Singles, list[str]]:
    """Those of the places that can be among the first so many, with scores and ids."""
    values = scores.astype(np.float32)
    if len(places) > wanted:
        least = np.partition(values, len(values) - wanted)[len(values) - wanted]
        above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
        if len(above) + len(equal) > wanted:
            ids = segment.ids.take(places[equal])
            equal = equal[heapq.nsmallest(wanted - len(above), range(len(ids)), key=ids.__getitem__)]
        kept = np.concatenate([above, equal])
        places, values = places[kept], values[kept]
    return places, values, segment.ids.take(places)


def _statistics(segments: list[Segment]) -> tuple[int, float]:
    """How many living items have words, and how many words each on average."""
    totals = [segment.postings.totals(None if segment.alive is None else segment.alive.mask) for segment in segments]
    entries = sum(total[0] for total in totals)
    return entries, sum(total[1] for total in totals) / entries if entries else 1.0
