"""The indexed words themselves: which begin so, which are spelled nearly so, how many items hold them."""

import sqlite3
from collections.abc import Sequence

from diptych.index.bm25 import WordStatistics
from diptych.index.local.parameters import chunks
from diptych.index.spelling import Spellings

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
