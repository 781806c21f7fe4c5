"""SQLite files: how every one is opened, and the tables of `index.sqlite`.

An item's row number is new whenever its vector or modality changes, and is never used again: what is derived from the
vectors up to some row stays right for them, and only has to learn which rows were removed since. `removed` says so,
with the number of the change that did it, and forgets what the derived files in force know already.

`checksums` has two numbers for every row of `items`, which `integrity.py` describes. An index with words also has the
tables that `rows.py` describes.
"""

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from diptych._core.errors import BackendUnavailableError, DataError, DiptychError, TimeLimitError
from diptych.index.identity import Identity
from diptych.index.local.binary import VectorForm, stored_form, write_codes
from diptych.index.local.graph import Settings
from diptych.methods.binary_codes import BinaryCodes

FILE = "index.sqlite"
FORMAT = 2
"""1 had no checksums."""
UNKNOWN = -1
"""What an index of format 1 has for a checksum as long as it is only read."""
_SUM = "checksum"
_AT_ONCE = 1_024

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
_CHECKSUMS = (
    "CREATE TABLE checksums (row INTEGER PRIMARY KEY, vector INTEGER NOT NULL, metadata INTEGER NOT NULL,"
    " words INTEGER)"
)
_WORD_TABLES = (
    "CREATE TABLE texts (row INTEGER PRIMARY KEY, terms TEXT NOT NULL)",
    "CREATE TABLE text_lengths (row INTEGER PRIMARY KEY, length INTEGER NOT NULL)",
    "CREATE TABLE text_count (only INTEGER PRIMARY KEY CHECK (only = 1), entries INTEGER NOT NULL)",
    "INSERT INTO text_count VALUES (1, 0)",
    "CREATE VIRTUAL TABLE postings USING fts5(terms, content='texts', content_rowid='row', columnsize=0, detail=none,"
    """ tokenize="ascii tokenchars '=#.'")""",
    "CREATE TABLE vocabulary (number INTEGER PRIMARY KEY AUTOINCREMENT, term TEXT NOT NULL UNIQUE, shown TEXT,"
    " plain TEXT, entries INTEGER NOT NULL, checksum INTEGER)",
    "CREATE INDEX vocabulary_by_plain ON vocabulary (plain) WHERE plain IS NOT NULL",
)
"""The tables of an index with words; the tokeniser cuts at spaces, for no term holds another sign that it cuts at."""
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_UNAVAILABLE = dict.fromkeys(_LOCKED, "another process has been writing to it for too long") | {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full or fails",
    sqlite3.SQLITE_NOMEM: "memory is short",
}

_log = logging.getLogger(__name__)


class State(NamedTuple):
    """Where the database stands: the last change, the next free row, the derived files in force."""

    change: int
    next_row: int
    derived: str


def open_database(
    path: Path, *, wait_s: float, read_only: bool = False, create: bool = False, what: str = ""
) -> sqlite3.Connection:
    """Open a SQLite file by the rules of every one that Diptych writes.

    What is committed survives a power cut. The file keeps a write-ahead log, so that readers never wait for a writer,
    and it is opened for writing even where nothing may be changed: only so can a reader bring a file in order whose
    writer was killed. Transactions are begun and ended by hand, see `transaction`.

    Args:
        path: the file.
        wait_s: how long a change waits for another process that writes.
        read_only: refuse changes.
        create: make the file if it is not there.
        what: how errors name it; by its path if empty.
    """
    address = f"{path.resolve().as_uri()}?mode={'rwc' if create else 'rw'}"
    try:
        connection = sqlite3.connect(address, uri=True, timeout=wait_s, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise explained(error, what or str(path)) from None
    try:
        if read_only:
            connection.execute("PRAGMA query_only = 1")
        else:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error as error:
        connection.close()
        raise explained(error, what or str(path)) from None
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a block as one change: kept when it succeeds, undone when it fails; waits for other writers."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def explained(error: sqlite3.Error, what: str, wait_s: float = 0.0) -> DiptychError:
    """Return what SQLite says as one of our errors, in a sentence without a path.

    Args:
        error: what SQLite raised.
        what: the subject of the sentence, such as "the index".
        wait_s: how long another writer was waited for.
    """
    number = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if number == sqlite3.SQLITE_INTERRUPT:
        return TimeLimitError("the query took longer than allowed and was cancelled; narrow its condition.")
    if number in _UNAVAILABLE:
        waited = f" (more than {wait_s:g} s)" if wait_s and number in _LOCKED else ""
        return BackendUnavailableError(f"{what} cannot be used now: {_UNAVAILABLE[number]}{waited}; try again later.")
    return DataError(f"{what} cannot be read or written ({error}); run `diptych verify`, or restore a backup.")


def write_tables(folder: Path, identity: Identity, settings: Settings, codes: BinaryCodes | None = None) -> None:
    """Make the file of an empty index."""
    connection = open_database(folder / FILE, wait_s=5, create=True)
    try:
        size = VectorForm(identity.dimension, codes, settings.keep_float).size
        connection.executescript("BEGIN;" + _TABLES.format(size=size))
        write_codes(connection, codes)
        for table in (_CHECKSUMS, *(_WORD_TABLES if settings.words else ())):
            connection.execute(table)
        _write_head(connection, {"format": FORMAT, "identity": identity.to_json(), "settings": asdict(settings)})
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise explained(error, "the index") from None
    finally:
        connection.close()


def read_head(connection: sqlite3.Connection, folder: Path) -> tuple[Identity, Settings, int]:
    """Read what was fixed when the index was created, and the format it is in."""
    try:
        rows = dict(connection.execute("SELECT key, value FROM head").fetchall())
        head: dict[str, Any] = {key: json.loads(value) for key, value in rows.items()}
    except (sqlite3.Error, ValueError) as error:
        raise _unreadable(folder / FILE, error) from None
    if head.get("format") not in (1, FORMAT):
        raise DataError(
            f"{folder} is of format {head.get('format')}, this version reads up to {FORMAT}; use a later version."
        )
    if head["format"] == FORMAT and head.get(_SUM) != _head_sum(rows):
        raise _unreadable(folder / FILE, "its head is damaged")
    return Identity.from_json(head["identity"]), Settings(**head["settings"]), head["format"]


def read_form(connection: sqlite3.Connection, identity: Identity, settings: Settings) -> VectorForm:
    """Read how the index keeps its vectors."""
    try:
        return stored_form(connection, identity, settings)
    except ValueError as error:
        raise damaged(str(error)) from None


def read_state(connection: sqlite3.Connection) -> State:
    """Read where the database stands now."""
    row = connection.execute("SELECT change, next_row, derived FROM state").fetchone()
    return State(*row)


def upgrade(connection: sqlite3.Connection, folder: Path) -> None:
    """Bring an index of format 1 to this one in one transaction: it is of the former format until it is whole.

    Args:
        connection: open for writing.
        folder: the index, for messages.
    """
    with transaction(connection):
        _, settings, found = read_head(connection, folder)
        if found == FORMAT:
            return  # another process was quicker
        _log.info("The index %s is of an earlier format; it is upgraded.", folder)
        connection.execute(_CHECKSUMS)
        rows = connection.execute("SELECT row, id, modality, metadata, vector FROM items JOIN vectors USING (row)")
        while block := rows.fetchmany(_AT_ONCE):
            sums = [
                (row, vector_sum(id, name, vector), metadata_sum(row, id, known))
                for row, id, name, known, vector in block
            ]
            connection.executemany("INSERT INTO checksums VALUES (?, ?, ?, NULL)", sums)
        if settings.words:
            _upgrade_words(connection)
        head = {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM head")}
        connection.execute("DELETE FROM head")
        _write_head(connection, {**head, "format": FORMAT})


def _upgrade_words(connection: sqlite3.Connection) -> None:
    texts = connection.execute("SELECT row, length, terms FROM texts JOIN text_lengths USING (row)")
    while block := texts.fetchmany(_AT_ONCE):
        sums = [(words_sum(*each), each[0]) for each in block]
        connection.executemany("UPDATE checksums SET words = ? WHERE row = ?", sums)
    connection.execute("ALTER TABLE vocabulary ADD COLUMN checksum INTEGER")
    words = connection.execute("SELECT term, shown, plain, number FROM vocabulary").fetchall()
    sums = [(term_sum(term, shown, plain), number) for term, shown, plain, number in words]
    connection.executemany("UPDATE vocabulary SET checksum = ? WHERE number = ?", sums)


def vector_sum(id: str, modality: str, vector: bytes | None) -> int:
    """Return the checksum of a vector and of whose it is; a damaged file may hold anything in its place."""
    return zlib.crc32(vector if isinstance(vector, bytes) else b"", zlib.crc32(f"{id}\0{modality}".encode()))


def metadata_sum(row: int, id: str, metadata: str) -> int:
    """Return the checksum of metadata and of whose it is."""
    return zlib.crc32(f"{row}\0{id}\0{metadata}".encode())


def words_sum(row: int, length: int, terms: str) -> int:
    """Return the checksum of the words of a row."""
    return zlib.crc32(f"{row} {length} {terms}".encode())


def term_sum(term: str, shown: str | None, plain: str | None) -> int:
    """Return the checksum of an indexed word and how it is shown."""
    return zlib.crc32(json.dumps([term, shown, plain]).encode())


def damaged(problem: str) -> DataError:
    """Return the error for content that is not as it was written."""
    return DataError(f"the index is damaged: {problem}; restore a backup, or build it again.")


def _write_head(connection: sqlite3.Connection, head: dict[str, Any]) -> None:
    rows = {key: json.dumps(value) for key, value in head.items()}
    connection.executemany("INSERT INTO head VALUES (?, ?)", [*rows.items(), (_SUM, json.dumps(_head_sum(rows)))])


def _head_sum(rows: dict[str, str]) -> int:
    return zlib.crc32(json.dumps({key: value for key, value in rows.items() if key != _SUM}, sort_keys=True).encode())


def _unreadable(path: Path, error: object) -> DataError:
    return DataError(f"{path} cannot be read ({error}); run `diptych verify`, or restore a backup.")
