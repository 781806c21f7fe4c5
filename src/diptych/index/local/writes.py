"""Changes of the truth: each function runs inside one transaction."""

import sqlite3
from collections.abc import Sequence

import numpy as np

from diptych.index.contract import already_there
from diptych.index.items import Batch
from diptych.index.local.parameters import chunks
from diptych.index.local.schema import read_state
from diptych.index.local.texts import drop_words, joined_terms, put_words, stored_terms


def insert(connection: sqlite3.Connection, batch: Batch, *, replace: bool, words: bool) -> int:
    """Write items; with `replace`, those that are there make place, and without, they are an error.

    Args:
        connection: inside a transaction.
        batch: the items.
        replace: whether they may be there already.
        words: whether the index keeps words.
    """
    there = _rows_of(connection, batch.ids)
    if there and not replace:
        raise already_there(next(id for id in batch.ids if id in there))
    change, next_row, _ = read_state(connection)
    change += 1
    kept = _keep_unmoved(connection, batch, there, words)
    _remove(connection, [row for id, row in there.items() if id not in kept], change, words)
    fresh = [place for place, id in enumerate(batch.ids) if id not in kept]
    rows = range(next_row, next_row + len(fresh))
    connection.executemany(
        "INSERT INTO items VALUES (?, ?, ?, ?)",
        ((row, batch.ids[p], batch.modalities[p], batch.metadata[p]) for row, p in zip(rows, fresh, strict=True)),
    )
    vectors = np.ascontiguousarray(batch.vectors, dtype="<f4")
    connection.executemany(
        "INSERT INTO vectors VALUES (?, ?)", ((row, vectors[p].tobytes()) for row, p in zip(rows, fresh, strict=True))
    )
    if words and batch.words is not None:
        put_words(connection, rows, [batch.words[p] for p in fresh])
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


def _keep_unmoved(connection: sqlite3.Connection, batch: Batch, there: dict[str, int], words: bool) -> set[str]:
    """Items whose modality, vector and words stay as they are only get their new metadata, and keep their rows."""
    kept: set[str] = set()
    places = {id: place for place, id in enumerate(batch.ids)} if there else {}
    for id, row in there.items():
        place = places[id]
        old = connection.execute("SELECT modality, vector FROM items JOIN vectors USING (row) WHERE row = ?", (row,))
        modality, vector = old.fetchone()
        same = modality == batch.modalities[place] and vector == batch.vectors[place].astype("<f4").tobytes()
        if same and words:
            new = batch.words[place] if batch.words is not None else None
            same = stored_terms(connection, row) == (None if new is None else joined_terms(new))
        if same:
            connection.execute("UPDATE items SET metadata = ? WHERE row = ?", (batch.metadata[place], row))
            kept.add(id)
    return kept


def _remove(connection: sqlite3.Connection, rows: Sequence[int], change: int, words: bool) -> None:
    each = [(row,) for row in rows]
    if words:
        drop_words(connection, rows)
    connection.executemany("DELETE FROM items WHERE row = ?", each)
    connection.executemany("DELETE FROM vectors WHERE row = ?", each)
    connection.executemany("INSERT INTO removed VALUES (?, ?)", [(row, change) for row in rows])
