"""Questions to the truth."""

import json
import sqlite3
from collections.abc import Sequence

import numpy as np

from diptych._core.arrays import Integers
from diptych.index.filters import Condition, to_sqlite
from diptych.index.filters.sqlite import Parameter
from diptych.index.items import Item, Metadata
from diptych.index.local.parameters import chunks


def items_of(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Item]:
    """The items that are there."""
    found = {}
    for marks, part in chunks(ids):
        sql = f"SELECT id, modality, vector, metadata FROM items JOIN vectors USING (row) WHERE id IN ({marks})"
        for id, modality, vector, metadata in connection.execute(sql, part):
            numbers = np.frombuffer(vector, dtype="<f4").astype(np.float32)
            found[id] = Item(id, modality, numbers, json.loads(metadata))
    return found


def metadata_of(connection: sqlite3.Connection, rows: Sequence[int], change: int) -> dict[int, Metadata] | None:
    """What is known of the items in these rows, or None if the truth has left this change behind.

    SQLite writes all of them into one text: a result of one row is read, and its JSON decoded, in one go each, instead
    of taking turns with other threads at every item.
    """
    found: dict[int, Metadata] = {}
    for marks, part in chunks(rows):
        columns = "(SELECT change FROM state), group_concat(row), group_concat(metadata)"
        sql = f"SELECT {columns} FROM items WHERE row IN ({marks})"
        now, there, known = connection.execute(sql, part).fetchone()
        if now != change:
            return None
        if there is not None:
            found.update(zip(map(int, there.split(",")), json.loads(f"[{known}]"), strict=True))
    return found


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
