"""The tables of `index.sqlite`.

An item's row number is new whenever its vector or modality changes, and is never used again: what is derived from the
vectors up to some row stays right for them, and only has to learn which rows were removed since. `removed` says so,
with the number of the change that did it, and forgets what the derived files in force know already.

An index with words also has the tables that `rows.py` describes.

"""

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from diptych._core.errors import DataError
from diptych.index.identity import Identity
from diptych.index.local.graph import Settings

FILE = "index.sqlite"
FORMAT = 1

_TABLES = """
CREATE TABLE head (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE state (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    change INTEGER NOT NULL,
    next_row INTEGER NOT NULL,
    derived TEXT NOT NULL
);
INSERT INTO state VALUES (1, 0, 0, '');
CREATE TABLE items (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    modality TEXT NOT NULL,
    metadata TEXT NOT NULL
);
CREATE INDEX items_by_modality ON items (modality);
CREATE TABLE vectors (row INTEGER PRIMARY KEY, vector BLOB NOT NULL CHECK (length(vector) = {size}));
CREATE TABLE removed (row INTEGER PRIMARY KEY, change INTEGER NOT NULL);
CREATE INDEX removed_by_change ON removed (change);
"""

_WORD_TABLES = (
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


class State(NamedTuple):
    """Where the truth stands: the last change, the next free row, the derived files in force."""

    change: int
    next_row: int
    derived: str


def connect(folder: Path, *, timeout_s: float, read_only: bool) -> sqlite3.Connection:
    """Open the file; transactions are begun and ended by hand."""
    connection = sqlite3.connect(
        f"{(folder / FILE).resolve().as_uri()}?mode=rw",
        uri=True,
        timeout=timeout_s,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")  # what is acknowledged survives a power cut, too
        connection.execute(f"PRAGMA query_only = {int(read_only)}")
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _unreadable(folder, error) from None
    return connection


def write_tables(folder: Path, identity: Identity, settings: Settings) -> None:
    """Make the file of an empty index."""
    (folder / FILE).touch()
    connection = connect(folder, timeout_s=5, read_only=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript("BEGIN;" + _TABLES.format(size=4 * identity.dimension))
        for table in _WORD_TABLES if settings.words else ():
            connection.execute(table)
        head = {"format": FORMAT, "identity": identity.to_json(), "settings": asdict(settings)}
        rows = [(key, json.dumps(value)) for key, value in head.items()]
        connection.executemany("INSERT INTO head VALUES (?, ?)", rows)
        connection.execute("COMMIT")
    finally:
        connection.close()


def read_head(connection: sqlite3.Connection, folder: Path) -> tuple[Identity, Settings]:
    """What was fixed when the index was created."""
    try:
        head: dict[str, Any] = {key: json.loads(value) for key, value in connection.execute("SELECT * FROM head")}
    except sqlite3.DatabaseError as error:
        raise _unreadable(folder, error) from None
    if head.get("format") != FORMAT:
        raise DataError(
            f"{folder} is of format {head.get('format')}, this version reads {FORMAT};"
            " run `diptych index MODEL DATASET --out INDEX` to build it again."
        )
    return Identity.from_json(head["identity"]), Settings(**head["settings"])


def read_state(connection: sqlite3.Connection) -> State:
    """Where the truth stands now."""
    row = connection.execute("SELECT change, next_row, derived FROM state").fetchone()
    return State(*row)


def _unreadable(folder: Path, error: Exception) -> DataError:
    return DataError(f"{folder / FILE} cannot be read ({error}); restore it from a snapshot.")
