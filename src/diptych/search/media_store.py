"""The images and sounds of an index: thumbnails, and where the originals are, in one SQLite file.

An entry's metadata says which file is its own, by the hash of its bytes; what the store holds beyond that is never
shown. So an entry and its file change at one moment, that of the index.

The same file lists the entries that were written or removed since the index was built, so that an index built anew in
its place takes them over: an entry is listed before it is changed.
"""

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from diptych._core.errors import DataError
from diptych.data import Dataset, media_of
from diptych.index.local.database import explained, open_database, transaction
from diptych.media import MediaSource, media_kind, reopen_source
from diptych.search.raw_embedder import LARGEST_FILE, decoded
from diptych.search.thumbnails import damaged, is_whole, sealed, unsealed

FILE = "media.sqlite"
_WAIT_S = 5.0
_SUBJECT = "the images of the index"
_HASH_LENGTH = 32
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
_CHANGES = """
CREATE TABLE IF NOT EXISTS changes (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, text TEXT)
"""


@dataclass(frozen=True)
class StoredFile:
    """One image or sound.

    Attributes:
        id: of the entry it belongs to.
        hash: of the original's bytes.
        thumbnail: a small image of it.
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


@dataclass(frozen=True)
class Change:
    """An entry that was written or removed since the index was built.

    Attributes:
        id: of the entry.
        text: what it was embedded from, where its metadata do not say so.
        number: later changes have larger ones; given by the store.
    """

    id: str
    text: str | None = None
    number: int = 0


class MediaStore:
    """The store of one index; threads may share it.

    Readers open the file as writers do, so that whoever comes first after a crash brings it in order.
    """

    def __init__(self, folder: Path, *, create: bool = False, writable: bool = True) -> None:
        if create:
            folder.mkdir(exist_ok=True)
        self._lock = threading.Lock()
        read_only = not (create or writable)
        self._connection = open_database(
            folder / FILE, wait_s=_WAIT_S, read_only=read_only, create=create, what=_SUBJECT
        )
        if not read_only:
            with _told():
                for table in (_TABLE, _CHANGES) if create else (_CHANGES,):
                    self._connection.execute(table)

    def put(self, files: Iterable[StoredFile], changes: Iterable[Change] = ()) -> None:
        """Keep files and list changes, all or none; one that is there already is replaced."""
        rows = [(p.id, p.hash, sealed(p.thumbnail), p.source, p.name, p.original) for p in files]
        listed = [(change.id, change.text) for change in changes]
        with _told(), self._lock, transaction(self._connection):
            self._connection.executemany("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._connection.executemany("INSERT OR REPLACE INTO changes (id, text) VALUES (?, ?)", listed)

    def changes(self, after: int = 0) -> list[Change]:
        """The entries written or removed since the index was built, in order; those after a number."""
        asked = "SELECT id, text, number FROM changes WHERE number > ? ORDER BY number"
        with _told(), self._lock:
            if self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'changes'").fetchone() is None:
                return []  # built by an earlier version, and not changed since
            return [Change(*row) for row in self._connection.execute(asked, (after,))]

    def snapshot(self, target: Path) -> None:
        """Write a copy of the file into a folder, which is made."""
        target.mkdir(exist_ok=True)
        with _told(), closing(sqlite3.connect(target / FILE)) as copy, self._lock:
            self._connection.backup(copy)

    def problems(self) -> list[str]:
        """Read the whole file and return what is wrong with it; empty if nothing is."""
        with _told(), self._lock:
            self._connection.create_function("diptych_is_whole", 1, is_whole, deterministic=True)
            found = [str(row[0]) for row in self._connection.execute("PRAGMA integrity_check")]
            if found == ["ok"]:
                wrong = self._connection.execute("SELECT id FROM pictures WHERE NOT diptych_is_whole(thumbnail)")
                found = [f"the thumbnail of item {id!r:.80} is not what was written" for (id,) in wrong] or found
        return [] if found == ["ok"] else found

    def get(self, id: str, hash: str) -> StoredFile | None:
        """One file, if it is there."""
        with _told(), self._lock:
            row = self._connection.execute("SELECT * FROM pictures WHERE id = ? AND hash = ?", (id, hash)).fetchone()
        if row is None:
            return None
        stored = StoredFile(row[0], row[1], unsealed(row[2]), *row[3:])
        if stored.original is not None and len(hash) == _HASH_LENGTH and content_hash(stored.original) != hash:
            raise damaged()
        return stored

    def thumbnail(self, id: str, hash: str) -> bytes | None:
        """One thumbnail, without the rest."""
        asked = "SELECT thumbnail FROM pictures WHERE id = ? AND hash = ?"
        with _told(), self._lock:
            row = self._connection.execute(asked, (id, hash)).fetchone()
        return None if row is None else unsealed(row[0])

    def count(self) -> int:
        """How many files there are."""
        with _told(), self._lock:
            return int(self._connection.execute("SELECT count(*) FROM pictures").fetchone()[0])

    def drop(self, images: Sequence[tuple[str, str]]) -> None:
        """Forget files by id and hash."""
        with _told(), self._lock, transaction(self._connection):
            self._connection.executemany("DELETE FROM pictures WHERE id = ? AND hash = ?", images)

    def close(self) -> None:
        """Give back the file."""
        with self._lock:
            self._connection.close()


def content_hash(data: bytes) -> str:
    """The hash by which an index identifies a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@contextmanager
def _told() -> Iterator[None]:
    """Turn an error of SQLite into one sentence without a path."""
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, _SUBJECT, _WAIT_S) from None


class Originals:
    """Reads files where they were when the index was built; nothing is opened before it is asked for."""

    def __init__(self, folder: Path, sources: Sequence[Mapping[str, Any]]) -> None:
        self._folder = folder
        self._sources = sources
        self._opened: dict[int, MediaSource] = {}
        self._lock = threading.Lock()

    def read(self, source: int, name: str, hash: str) -> bytes | None:
        """A file's bytes; None if it is gone, or no longer the one that was indexed."""
        try:
            with self._lock:
                opened = self._open(source)
                place = opened.locate(name)
                data = opened.read(place) if place.size <= LARGEST_FILE else b""
        except (DataError, OSError, IndexError, KeyError):
            return None
        return data if content_hash(data) == hash else None

    def close(self) -> None:
        """Give back archives."""
        with self._lock:
            for source in self._opened.values():
                source.close()
            self._opened.clear()

    def _open(self, number: int) -> MediaSource:
        if number not in self._opened:
            source = self._sources[number]
            path = (self._folder / source["path"]).resolve()
            if not path.exists():
                raise DataError("the images are gone.")
            self._opened[number] = reopen_source(path, source["kind"])
        return self._opened[number]


SOURCE_NUMBER = 0
"""A dataset has one source of files."""
_AT_ONCE = 64
"""Originals that are held in memory before they are stored."""


class MediaImporter:
    """Reads files by the names a dataset gives them; the source refuses names that lead out of it."""

    def __init__(self, source: MediaSource, store: MediaStore, *, keep_originals: bool = False) -> None:
        self._source = source
        self._store = store
        self._keep_originals = keep_originals

    def take(self, ids: Sequence[str], names: Sequence[str | None], kind: str = "image") -> dict[str, str]:
        """Store the thumbnails of some entries whose files are of a kind of media.

        Returns:
            The hash of the file by id, for those whose file could be read.
        """
        owners: dict[str, list[str]] = {}
        for id, name in zip(ids, names, strict=True):
            if name is not None:
                owners.setdefault(name, []).append(id)
        hashes: dict[str, str] = {}
        read = self._read(list(owners), kind)
        while some := list(islice(read, _AT_ONCE)):
            files = [
                StoredFile(id, content_hash(data), small, SOURCE_NUMBER, name, data if self._keep_originals else None)
                for name, data, small in some
                for id in owners[name]
            ]
            self._store.put(files)
            hashes |= {file.id: file.hash for file in files}
        return hashes

    def _read(self, names: Sequence[str], kind: str) -> Iterator[tuple[str, bytes, bytes]]:
        """The name, bytes and thumbnail of each file that can be decoded, in the order that suits the source."""
        places, reader = [], media_kind(kind).load()
        for name in names:
            try:
                places.append((self._source.locate(name), name))
            except DataError:
                continue
        name_of = {place.name: name for place, name in places}
        for place in self._source.in_order([place for place, _ in places]):
            try:
                data = self._source.read(place) if place.size <= LARGEST_FILE else b""
                yield name_of[place.name], data, reader.thumbnail(decoded(data, kind=kind))
            except (DataError, OSError):
                continue


@contextmanager
def media_importer(
    dataset: Dataset, store: MediaStore, *, keep_originals: bool = False
) -> Iterator[MediaImporter | None]:
    """Open a dataset's files; None where it has none, or they have moved."""
    try:
        source = media_of(dataset)
    except DataError:
        yield None
        return
    with source:
        yield MediaImporter(source, store, keep_originals=keep_originals)
