"""The words of items in `index.sqlite`: written in the transaction that writes the items.

`texts` has the terms of a row and `text_lengths` the number of its words; `postings` (FTS5) finds the rows of a term;
`vocabulary` counts the items that hold each term and says how a word is shown; `text_count` counts all of them.
Rows are never used again, so what was read of a term stays right.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence

from diptych.index.local.parameters import chunks
from diptych.index.terms import AGAIN, EntryWords
from diptych.index.words import plain

TABLES = (
    "CREATE TABLE texts (row INTEGER PRIMARY KEY, terms TEXT NOT NULL)",
    "CREATE TABLE text_lengths (row INTEGER PRIMARY KEY, length INTEGER NOT NULL)",
    "CREATE TABLE text_count (only INTEGER PRIMARY KEY CHECK (only = 1), entries INTEGER NOT NULL)",
    "INSERT INTO text_count VALUES (1, 0)",
    "CREATE VIRTUAL TABLE postings USING fts5(terms, content='texts', content_rowid='row', columnsize=0, detail=none,"
    """ tokenize="ascii tokenchars '=#.'")""",
    "CREATE TABLE vocabulary (number INTEGER PRIMARY KEY AUTOINCREMENT, term TEXT NOT NULL UNIQUE, shown TEXT,"
    " plain TEXT, entries INTEGER NOT NULL)",
    "CREATE INDEX vocabulary_by_plain ON vocabulary (plain) WHERE plain IS NOT NULL",
)
"""The tables of an index with words; the tokeniser cuts at spaces, for no term holds another sign that it cuts at."""


def put_words(connection: sqlite3.Connection, rows: Sequence[int], words: Sequence[EntryWords | None]) -> None:
    """Write the words of new rows."""
    given = [(row, entry) for row, entry in zip(rows, words, strict=True) if entry is not None]
    written = [(row, joined_terms(entry)) for row, entry in given]
    connection.executemany("INSERT INTO texts VALUES (?, ?)", written)
    connection.executemany("INSERT INTO postings (rowid, terms) VALUES (?, ?)", written)
    connection.executemany("INSERT INTO text_lengths VALUES (?, ?)", ((row, entry.length) for row, entry in given))
    connection.execute("UPDATE text_count SET entries = entries + ?", (len(given),))
    counts = Counter(term for _, entry in given for term in entry.times)
    shown = {term: form for _, entry in given for term, form in entry.shown.items()}
    connection.executemany(
        "INSERT INTO vocabulary (term, shown, plain, entries) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (term) DO UPDATE SET entries = entries + excluded.entries,"
        " shown = COALESCE(shown, excluded.shown), plain = COALESCE(plain, excluded.plain)",
        ((term, form := shown.get(term), plain(form) if form else None, count) for term, count in counts.items()),
    )


def drop_words(connection: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Forget the words of some rows; FTS5 wants to be told what they were."""
    counts: Counter[str] = Counter()
    for marks, part in chunks(rows):
        old = connection.execute(f"SELECT row, terms FROM texts WHERE row IN ({marks})", part).fetchall()
        connection.executemany("INSERT INTO postings (postings, rowid, terms) VALUES ('delete', ?, ?)", old)
        connection.execute("UPDATE text_count SET entries = entries - ?", (len(old),))
        connection.execute(f"DELETE FROM texts WHERE row IN ({marks})", part)
        connection.execute(f"DELETE FROM text_lengths WHERE row IN ({marks})", part)
        for _, terms in old:
            counts.update(term for term in terms.split(" ") if AGAIN not in term)
    connection.executemany(
        "UPDATE vocabulary SET entries = entries - ? WHERE term = ?", ((n, term) for term, n in counts.items())
    )
    connection.executemany("DELETE FROM vocabulary WHERE term = ? AND entries <= 0", ((term,) for term in counts))


def stored_terms(connection: sqlite3.Connection, row: int) -> str | None:
    """The terms of a row as they were written, None if it has no words."""
    found = connection.execute("SELECT terms FROM texts WHERE row = ?", (row,)).fetchone()
    return None if found is None else str(found[0])


def joined_terms(entry: EntryWords) -> str:
    """All terms of an entry with spaces between them."""
    return " ".join(entry.names())
