"""Which items of a segment hold a term, and which words are indexed.

Postings are arrays, read from SQLite when a term is first asked for, then kept. The rows of a segment never change, and
one that was removed since is known to be dead. So what was read of a term stays right; a segment that learns of removed
rows gets a copy of its own, so that a search that is still at an earlier view reads nothing of a later one.
"""

import sqlite3
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Booleans, Integers, Singles
from diptych.index.lexical import Spellings
from diptych.index.local.rows import chunks
from diptych.index.terms import K1, MOST_TIMES, STEM, B, WordStatistics, level_of
from diptych.index.words import stem

_MOST_HELD = 8_000_000
"""Places that are kept for a segment, nine bytes each; beyond, all are forgotten and read again as they are needed."""


class Posting:
    """The places in a segment that hold a term, ascending, and how often each does."""

    def __init__(self, places: NDArray[np.int32], times: NDArray[np.uint8]) -> None:
        self.places, self.times = places, times
        self._impacts: tuple[float, Singles, float] | None = None

    def __len__(self) -> int:
        return len(self.places)

    def impacts(self, lengths: Singles, mean: float) -> tuple[Singles, float]:
        """What BM25 makes of the times and of the lengths of the texts, at each place and at most.

        Kept until the mean length changes, which it does with every change of the index.
        """
        kept = self._impacts
        if kept is None or kept[0] != mean:
            times = self.times.astype(np.float64)
            values = times * (K1 + 1) / (times + K1 * (1 - B) + lengths[self.places] * (K1 * B / mean))
            kept = self._impacts = mean, values.astype(np.float32), float(values.max(initial=0.0))
        return kept[1], kept[2]

    def equals(self, other: "Posting | None") -> bool:
        """Whether another one says the same."""
        return (
            other is not None
            and len(self) == len(other)
            and bool((self.places == other.places).all() and (self.times == other.times).all())
        )


class Postings:
    """The lengths of a segment's texts and the postings read so far."""

    def __init__(self) -> None:
        self.lengths: Singles | None = None
        self._held: dict[str, Posting] = {}
        self._count = 0
        self._totals: tuple[int, int] | None = None

    def copied(self) -> "Postings":
        """What was read, for a segment of which more is dead."""
        copy = Postings()
        copy.lengths, copy._held, copy._count = self.lengths, dict(self._held), self._count
        return copy

    def totals(self, living: Booleans | None) -> tuple[int, int]:
        """How many living items have words, and how many words these have; None if all live."""
        if self._totals is None:
            assert self.lengths is not None  # read with the postings
            lengths = self.lengths if living is None else self.lengths[living]
            self._totals = int(np.count_nonzero(lengths)), int(lengths.sum(dtype=np.int64))
        return self._totals

    def known(self, terms: Collection[str]) -> dict[str, Posting] | None:
        """The postings of all these terms, or None if something has to be read first."""
        held = self._held
        if self.lengths is None or not all(term in held for term in terms):
            return None
        found = {term: held.get(term) for term in terms}
        return {term: posting for term, posting in found.items() if posting is not None}

    def read(self, connection: sqlite3.Connection, terms: Collection[str], rows: Integers) -> dict[str, Posting]:
        """The postings of all these terms.

        Args:
            connection: in a transaction that sees the change at which the segment is.
            terms: which; a word's form and its stem share one posting if they stand in the same places.
            rows: those of the segment, ascending.
        """
        if self.lengths is None:
            self.lengths = _lengths(connection, rows)
        found: dict[str, Posting] = {}
        for term in sorted(terms):  # stems come first
            posting = self._held.get(term)
            if posting is None:
                posting = _posting(connection, term, rows)
                same = None if term.startswith(STEM) else found.get(STEM + stem(term))
                if same is not None and posting.equals(same):
                    posting = same
                if self._count + len(posting) > _MOST_HELD:
                    self._held, self._count = {}, 0
                self._held[term] = posting
                self._count += len(posting)
            found[term] = posting
        return found


def places_among(rows: Integers, held: Integers) -> Integers:
    """Where in `held` those of the rows are that are there; both ascend."""
    if not len(held) or not len(rows):
        return np.empty(0, np.int64)
    first, last = np.searchsorted(rows, held[[0, -1]], side="left")
    near = rows[first : last + 1]
    places = np.minimum(np.searchsorted(held, near), len(held) - 1)
    return np.asarray(places[held[places] == near], np.int64)


def _lengths(connection: sqlite3.Connection, rows: Integers) -> Singles:
    """How many words each item has, zero for one without."""
    lengths = np.zeros(len(rows), np.float32)
    if len(rows):
        sql = "SELECT row, length FROM text_lengths WHERE row BETWEEN ? AND ? ORDER BY row"
        joined = f"SELECT group_concat(row), group_concat(length) FROM ({sql})"
        found = connection.execute(joined, (int(rows[0]), int(rows[-1]))).fetchone()
        read, counted = _numbers(found[0]), _numbers(found[1])
        places = places_among(read, rows)
        lengths[places] = counted[np.searchsorted(read, rows[places])]
    return lengths


def _posting(connection: sqlite3.Connection, term: str, rows: Integers) -> Posting:
    places = _listed(connection, term, rows)
    times = np.ones(len(places), np.uint8)
    for level in range(2, MOST_TIMES + 1):
        more = _listed(connection, level_of(term, level), rows) if len(places) else places
        if not len(more):
            break
        times[np.searchsorted(places, more)] = level
    return Posting(places.astype(np.int32), times)


def _listed(connection: sqlite3.Connection, name: str, rows: Integers) -> Integers:
    """The places of the rows under a name; in quotes, so that nothing in it means anything to FTS5."""
    if not len(rows):
        return np.empty(0, np.int64)
    sql = "SELECT group_concat(rowid) FROM postings WHERE postings MATCH ? AND rowid BETWEEN ? AND ?"
    quoted = '"' + name.replace('"', '""') + '"'
    found = connection.execute(sql, (quoted, int(rows[0]), int(rows[-1]))).fetchone()
    return places_among(_numbers(found[0]), rows)


def _numbers(listed: str | None) -> Integers:
    """Numbers with commas between them: one text is read many times as quickly as many rows."""
    return np.fromstring(listed, np.int64, sep=",") if listed else np.empty(0, np.int64)


_LAST = "\U0010ffff"


class Vocabulary:
    """Reads the table of that name; spellings are kept, and only new words read when one is asked for again."""

    def __init__(self) -> None:
        self._spellings = Spellings()

    def complete(self, connection: sqlite3.Connection, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Words that begin so, the most frequent first."""
        sql = (
            "SELECT shown, entries FROM vocabulary WHERE plain >= ? AND plain < ?"
            " ORDER BY entries DESC, plain, shown LIMIT ?"
        )
        return connection.execute(sql, (beginning, beginning + _LAST, limit)).fetchall()

    def correct(self, connection: sqlite3.Connection, written: str, edits: int, limit: int) -> list[tuple[str, int]]:
        """Words at most so many edits away: the nearest first, then the most frequent."""
        sql = "SELECT number, plain FROM vocabulary WHERE number > ? AND plain IS NOT NULL ORDER BY number"
        near = self._spellings.near(written, edits, lambda last: connection.execute(sql, (last,)).fetchall())
        marks = ", ".join("?" * len(near))
        counts = f"SELECT number, shown, entries FROM vocabulary WHERE number IN ({marks})"
        found = connection.execute(counts, list(near)).fetchall()
        ranked = sorted((*near[number], -entries, shown) for number, shown, entries in found)
        return [(shown, -entries) for _, _, entries, shown in ranked[:limit]]

    def statistics(self, connection: sqlite3.Connection, terms: Sequence[str]) -> WordStatistics:
        """How many items have words, and how many hold each term."""
        (entries,) = connection.execute("SELECT entries FROM text_count").fetchone()
        holding: dict[str, int] = {}
        for marks, part in chunks(terms):
            holding.update(connection.execute(f"SELECT term, entries FROM vocabulary WHERE term IN ({marks})", part))
        return WordStatistics(entries, holding)
