"""The pictures of an index: thumbnails, and where the originals are, in one SQLite file.

An item's metadata says which picture is its own, by the hash of its bytes; what the store holds beyond that is never
shown. So an item and its picture change at one moment, that of the index.
"""

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from diptych._core.errors import DataError

FILE = "media.sqlite"
_TABLE = """
CREATE TABLE IF NOT EXISTS pictures (
    id TEXT NOT NULL,
    hash TEXT NOT NULL,
    thumbnail BLOB NOT NULL,
    source INTEGER,
    name TEXT,
    original BLOB,
    PRIMARY KEY (id, hash)
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class StoredPicture:
    """One picture.

    Attributes:
        id: of the item it belongs to.
        hash: of the original's bytes.
        thumbnail: WebP.
        source: the number of the folder or archive that holds the original, None if it is kept here.
        name: of the original in that source.
        original: its bytes, if they are kept here.
    """

    id: str
    hash: str
    thumbnail: bytes
    source: int | None = None
    name: str | None = None
    original: bytes | None = None


class MediaStore:
    """The store of one index; threads may share it."""

    def __init__(self, folder: Path, *, create: bool = False, writable: bool = True) -> None:
        if create:
            folder.mkdir(exist_ok=True)
        mode = "rwc" if create else "rw" if writable else "ro"
        address = f"{(folder / FILE).resolve().as_uri()}?mode={mode}"
        self._lock = threading.Lock()
        with _told():
            self._connection = sqlite3.connect(address, uri=True, check_same_thread=False, timeout=30)
            if create:
                self._connection.execute(_TABLE)

    def put(self, pictures: Iterable[StoredPicture]) -> None:
        """Keep pictures, all or none; one that is there already is replaced."""
        rows = [(p.id, p.hash, p.thumbnail, p.source, p.name, p.original) for p in pictures]
        with _told(), self._lock, self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?, ?, ?)", rows)

    def get(self, id: str, hash: str) -> StoredPicture | None:
        """One picture, if it is there."""
        with _told(), self._lock:
            row = self._connection.execute("SELECT * FROM pictures WHERE id = ? AND hash = ?", (id, hash)).fetchone()
        return None if row is None else StoredPicture(*row)

    def thumbnail(self, id: str, hash: str) -> bytes | None:
        """One thumbnail, without the rest."""
        asked = "SELECT thumbnail FROM pictures WHERE id = ? AND hash = ?"
        with _told(), self._lock:
            row = self._connection.execute(asked, (id, hash)).fetchone()
        return None if row is None else bytes(row[0])

    def count(self) -> int:
        """How many pictures there are."""
        with _told(), self._lock:
            return int(self._connection.execute("SELECT count(*) FROM pictures").fetchone()[0])

    def drop(self, pictures: Sequence[tuple[str, str]]) -> None:
        """Forget pictures by id and hash."""
        with _told(), self._lock, self._connection:
            self._connection.executemany("DELETE FROM pictures WHERE id = ? AND hash = ?", pictures)

    def close(self) -> None:
        """Give back the file."""
        with self._lock:
            self._connection.close()


def content_hash(data: bytes) -> str:
    """The hash by which an index knows an image."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@contextmanager
def _told() -> Iterator[None]:
    """Say what SQLite says in a sentence without a path."""
    try:
        yield
    except sqlite3.Error as error:
        raise DataError(f"the pictures of the index cannot be read or written ({error}).") from None
