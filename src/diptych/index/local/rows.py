"""Read and write the rows of `index.sqlite`; every change runs inside one transaction of the caller.

The words of items are written with them. `texts` has the terms of a row and `text_lengths` the number of its words;
`postings` (FTS5) finds the rows of a term; `vocabulary` counts the items that hold each term and says how a word is
shown; `text_count` counts all of them. Rows are never used again, so what was read of a term stays right.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Integers
from diptych.index.contract import already_there
from diptych.index.filters import Condition
from diptych.index.filters.sql import Parameter, to_sqlite
from diptych.index.items import Batch, Item, Metadata
from diptych.index.local.binary import VectorForm
from diptych.index.local.database import UNKNOWN, damaged, metadata_sum, read_state, term_sum, vector_sum, words_sum
from diptych.index.terms import AGAIN, EntryWords
from diptych.index.words import plain

_AT_ONCE = 10_000
"""Parameters in one query; SQLite takes some 32,000."""
_ITEMS_AT_ONCE = 256


def chunks(
    values: Sequence[str] | Sequence[int], size: int = _AT_ONCE
) -> Iterator[tuple[str, Sequence[str] | Sequence[int]]]:
    """Parts small enough for one `IN`, each with its question marks."""
    for start in range(0, len(values), size):
        part = values[start : start + size]
        yield ", ".join("?" * len(part)), part


_SIDES = "FROM items LEFT JOIN vectors USING (row) LEFT JOIN checksums USING (row) WHERE id"
_CHECKED = "items.metadata, checksums.vector, checksums.metadata"
_ONE = f"SELECT row, id, modality, vectors.vector, {_CHECKED} {_SIDES} = ?"


def items_of(connection: sqlite3.Connection, ids: Sequence[str], form: VectorForm) -> dict[str, Item]:
    """Read the items that are there; what is not as it was written is an error."""
    found = {}
    for row, id, modality, vector, metadata, *sums in _stored(connection, ids):
        expected = [vector_sum(id, modality, vector), metadata_sum(row, id, metadata)]
        if sums not in (expected, [UNKNOWN, UNKNOWN]):
            raise damaged(f"item {id!r} is not as it was written")
        found[id] = Item(id, modality, form.read(vector), json.loads(metadata))
    return found


def _stored(connection: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Any]:
    """The rows of items; SQLite writes some hundred of them into one text, as in `metadata_of`."""
    if len(ids) == 1:  # as of most queries for what is near an item
        found = connection.execute(_ONE, ids).fetchone()
        if found is not None and list(map(type, found[1:5])) == [str, str, bytes, str]:
            yield found
            return
    for marks, part in chunks(ids, _ITEMS_AT_ONCE):
        columns = f"json_group_array(json_array(row, id, modality, hex(vectors.vector), {_CHECKED}))"
        sql = f"SELECT {columns} {_SIDES} IN ({marks})"
        for row, id, modality, numbers, *rest in json.loads(connection.execute(sql, part).fetchone()[0]):
            yield row, id, modality, bytes.fromhex(numbers), *rest


def check_metadata(connection: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Refuse metadata of these rows that is not as it was written."""
    for marks, part in chunks(rows):
        sql = (
            "SELECT row, id, items.metadata, checksums.metadata FROM items"
            f" LEFT JOIN checksums USING (row) WHERE row IN ({marks})"
        )
        for row, id, metadata, stored in connection.execute(sql, part):
            if stored not in (UNKNOWN, metadata_sum(row, id, metadata)):
                raise damaged(f"the metadata of item {id!r} is not as it was written")


def metadata_of(
    connection: sqlite3.Connection, rows: Sequence[int], change: int
) -> tuple[dict[int, Metadata], int] | None:
    """Read the metadata of these rows and how long it is; None if the database has left this change behind.

    SQLite writes all of them into one text: a result of one row is read, and its JSON decoded, in one go each, instead
    of taking turns with other threads at every item.
    """
    found: dict[int, Metadata] = {}
    size = 0
    for marks, part in chunks(rows):
        columns = "(SELECT change FROM state), group_concat(row), group_concat(metadata)"
        sql = f"SELECT {columns} FROM items WHERE row IN ({marks})"
        now, there, known = connection.execute(sql, part).fetchone()
        if now != change:
            return None
        if there is not None:
            try:
                found.update(zip(map(int, there.split(",")), json.loads(f"[{known}]"), strict=True))
                size += len(known)
            except ValueError:
                check_metadata(connection, rows)
                raise damaged("some metadata is no JSON") from None
    if len(found) < len(rows):
        raise damaged("some items have no metadata")
    return found, size


def count_of(connection: sqlite3.Connection, condition: Condition | None) -> int:
    """How many items meet a condition."""
    where, parameters = _where(condition)
    return int(connection.execute(f"SELECT COUNT(*) FROM items{where}", parameters).fetchone()[0])


def ids_of(connection: sqlite3.Connection, condition: Condition | None, limit: int) -> list[str]:
    """The first ids, in order, of the items that meet a condition."""
    where, parameters = _where(condition)
    limit = min(limit, 2**62)
    return [id for (id,) in connection.execute(f"SELECT id FROM items{where} ORDER BY id LIMIT {limit:d}", parameters)]


def rows_meeting(connection: sqlite3.Connection, condition: Condition) -> Integers:
    """The rows, ascending, of the items that meet a condition."""
    where, parameters = _where(condition)
    found = connection.execute(f"SELECT row FROM items{where} ORDER BY row", parameters)
    return np.fromiter((row for (row,) in found), dtype=np.int64)


def rows_among(connection: sqlite3.Connection, condition: Condition, rows: list[int]) -> set[int]:
    """Those of some rows whose items meet a condition."""
    where, parameters = _where(condition)
    listed = ", ".join(f"{row:d}" for row in rows)
    return {row for (row,) in connection.execute(f"SELECT row FROM items{where} AND row IN ({listed})", parameters)}


def _where(condition: Condition | None) -> tuple[str, list[Parameter]]:
    if condition is None:
        return "", []
    expression, parameters = to_sqlite(condition)
    return f" WHERE {expression}", parameters


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
        "INSERT INTO vocabulary (term, shown, plain, entries, checksum) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (term) DO UPDATE SET entries = entries + excluded.entries,"
        " checksum = CASE WHEN shown IS NULL THEN excluded.checksum ELSE checksum END,"
        " shown = COALESCE(shown, excluded.shown), plain = COALESCE(plain, excluded.plain)",
        (_vocabulary_row(term, shown.get(term), count) for term, count in counts.items()),
    )


def _vocabulary_row(term: str, shown: str | None, count: int) -> tuple[str, str | None, str | None, int, int]:
    compared = plain(shown) if shown else None
    return term, shown, compared, count, term_sum(term, shown, compared)


def drop_words(connection: sqlite3.Connection, rows: Sequence[int]) -> None:
    """Delete the words of some rows; FTS5 needs their former content."""
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
    """All terms of an item with spaces between them."""
    return " ".join(entry.names())


def insert(connection: sqlite3.Connection, batch: Batch, form: VectorForm, *, replace: bool, words: bool) -> int:
    """Write items; with `replace`, those that are there make place, and without, they are an error.

    Args:
        connection: inside a transaction.
        batch: the items.
        form: how the index keeps vectors.
        replace: whether they may be there already.
        words: whether the index keeps words.
    """
    there = _rows_of(connection, batch.ids)
    if there and not replace:
        raise already_there(next(id for id in batch.ids if id in there))
    change, next_row, _ = read_state(connection)
    change += 1
    vectors = form.pack(batch.vectors)
    kept = _keep_unmoved(connection, batch, vectors, there, words)
    _remove(connection, [row for id, row in there.items() if id not in kept], change, words)
    fresh = [place for place, id in enumerate(batch.ids) if id not in kept]
    rows = range(next_row, next_row + len(fresh))
    connection.executemany(
        "INSERT INTO items VALUES (?, ?, ?, ?)",
        ((row, batch.ids[p], batch.modalities[p], batch.metadata[p]) for row, p in zip(rows, fresh, strict=True)),
    )
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?)", ((row, vectors[p].tobytes()) for row, p in zip(rows, fresh, strict=True))
    )
    entries = [batch.words[p] for p in fresh] if words and batch.words is not None else [None] * len(fresh)
    if words:
        put_words(connection, rows, entries)
    connection.executemany(
        "INSERT INTO checksums VALUES (?, ?, ?, ?)",
        (
            (
                row,
                vector_sum(batch.ids[p], batch.modalities[p], vectors[p].tobytes()),
                metadata_sum(row, batch.ids[p], batch.metadata[p]),
                None if entry is None else words_sum(row, entry.length, joined_terms(entry)),
            )
            for row, p, entry in zip(rows, fresh, entries, strict=True)
        ),
    )
    connection.execute("UPDATE state SET change = ?, next_row = ?", (change, rows.stop))
    return len(batch)


def remove(connection: sqlite3.Connection, ids: Sequence[str], *, words: bool) -> int:
    """Delete the items that are there."""
    there = _rows_of(connection, ids)
    if there:
        change = read_state(connection).change + 1
        _remove(connection, list(there.values()), change, words)
        connection.execute("UPDATE state SET change = ?", (change,))
    return len(there)


def _rows_of(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for marks, part in chunks(ids):
        found.update(connection.execute(f"SELECT id, row FROM items WHERE id IN ({marks})", part))
    return found


def _keep_unmoved(
    connection: sqlite3.Connection, batch: Batch, vectors: NDArray[Any], there: dict[str, int], words: bool
) -> set[str]:
    """Items whose modality, vector and words stay as they are only get their new metadata, and keep their rows."""
    kept: set[str] = set()
    places = {id: place for place, id in enumerate(batch.ids)} if there else {}
    for id, row in there.items():
        place = places[id]
        old = connection.execute("SELECT modality, vector FROM items JOIN vectors USING (row) WHERE row = ?", (row,))
        modality, vector = old.fetchone()
        same = modality == batch.modalities[place] and vector == vectors[place].tobytes()
        if same and words:
            new = batch.words[place] if batch.words is not None else None
            same = stored_terms(connection, row) == (None if new is None else joined_terms(new))
        if same:
            connection.execute("UPDATE items SET metadata = ? WHERE row = ?", (batch.metadata[place], row))
            checksum = metadata_sum(row, id, batch.metadata[place])
            connection.execute("UPDATE checksums SET metadata = ? WHERE row = ?", (checksum, row))
            kept.add(id)
    return kept


def _remove(connection: sqlite3.Connection, rows: Sequence[int], change: int, words: bool) -> None:
    each = [(row,) for row in rows]
    if words:
        drop_words(connection, rows)
    connection.executemany("DELETE FROM items WHERE row = ?", each)
    connection.executemany("DELETE FROM vectors WHERE row = ?", each)
    connection.executemany("DELETE FROM checksums WHERE row = ?", each)
    connection.executemany("INSERT INTO removed VALUES (?, ?)", [(row, change) for row in rows])
