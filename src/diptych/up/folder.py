"""The folder of one search: its dataset, model and index, the record of what they were made from, and its address."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from diptych._core.errors import ConfigError, DataError
from diptych._core.files import read_json, write_json
from diptych._core.locks import file_lock

if TYPE_CHECKING:
    from diptych.up.sync import SourceItem

_SUFFIX = "-search"
_LOCK, _SERVING, _MANIFEST = "lock", "serving.json", "up.sqlite"
_ITEMS = "(id TEXT PRIMARY KEY, content TEXT NOT NULL, signature TEXT NOT NULL, labels TEXT NOT NULL) WITHOUT ROWID"
_TABLES = f"""
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS planned {_ITEMS};
CREATE TABLE IF NOT EXISTS fitted {_ITEMS};
CREATE TABLE IF NOT EXISTS indexed (id TEXT PRIMARY KEY, signature TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class SearchFolder:
    """Where everything is kept that `diptych up` makes.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def dataset(self) -> Path:
        """The items and their features, as the model saw them."""
        return self.path / "dataset"

    @property
    def model(self) -> Path:
        """The fitted model."""
        return self.path / "model"

    @property
    def index(self) -> Path:
        """The index that is searched."""
        return self.path / "index"

    @property
    def manifest(self) -> Path:
        """Which files and rows the others were made from."""
        return self.path / _MANIFEST

    @contextmanager
    def claimed(self) -> Iterator[bool]:
        """Lock the folder for this process; yields False, at once, if another process holds it.

        Raises:
            DataError: when the folder cannot be made, or is in use for something else.
        """
        self._check()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / _LOCK).touch()
        except OSError as error:
            raise DataError(f"{self.path} cannot be written ({error.strerror}); choose another --out.") from None
        with file_lock(self.path / _LOCK, timeout_s=0) as mine:
            yield mine

    @contextmanager
    def announced(self, address: str) -> Iterator[None]:
        """Publish the address of the server for as long as the block lasts."""
        write_json(self.path / _SERVING, {"address": address, "pid": os.getpid()})
        try:
            yield
        finally:
            (self.path / _SERVING).unlink(missing_ok=True)

    def address(self) -> str | None:
        """The address at which the process that holds the folder serves it; None before it does."""
        file = self.path / _SERVING
        served = read_json(file) if file.exists() else None
        return str(served["address"]) if isinstance(served, dict) and "address" in served else None

    def _check(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise DataError(f"{self.path} is a file; choose another --out.")
        if self.path.is_dir() and any(self.path.iterdir()) and not (self.path / _LOCK).exists():
            raise DataError(
                f"{self.path} is not the folder of a search; choose a new folder or an earlier search with --out."
            )


def search_folder(source: Path, out: Path | None) -> SearchFolder:
    """The folder for a source: the one asked for, or NAME-search in the working directory.

    A folder of images must not hold its own search, which would be read as part of it: by default the search then
    stands beside it.

    Raises:
        ConfigError: when the folder asked for lies inside the source.
    """
    inside = source.resolve()
    if out is not None:
        if source.is_dir() and out.resolve().is_relative_to(inside):
            raise ConfigError(f"--out {out} is inside {source}, which is read as data; choose a folder outside it.")
        return SearchFolder(out)
    name = (source.name if source.is_dir() else _stem(source)) or inside.name or "data"
    beside = Path(f"{name}{_SUFFIX}")
    if source.is_dir() and beside.resolve().is_relative_to(inside):
        return SearchFolder(inside.parent / f"{inside.name or 'data'}{_SUFFIX}")
    return SearchFolder(beside)


def source_name(source: Path) -> str:
    """What to call the data of a source."""
    resolved = source.resolve()
    return (resolved.name if source.is_dir() else _stem(source)) or "data"


def _stem(file: Path) -> str:
    """A file's name without its endings: both of them for .tar.gz and the like."""
    stem = file.stem
    return stem.removesuffix(".tar") or stem


def shown_address(host: str, port: int) -> str:
    """The address to type into a browser on the machine that listens.

    >>> shown_address("0.0.0.0", 8000), shown_address("::1", 80)
    ('http://127.0.0.1:8000', 'http://[::1]:80')
    """
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


@dataclass(frozen=True)
class FittedItem:
    """An item as the model saw it."""

    content: str
    labels: tuple[str, ...]


class Manifest:
    """The record of one search folder; every change of it is whole or not made at all."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._reading():
            self._connection = sqlite3.connect(file, check_same_thread=False)
            self._connection.executescript(_TABLES)

    def fact(self, name: str) -> str | None:
        """Read a single value: "source" or "dataset"."""
        with self._reading():
            row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def note(self, name: str, value: str) -> None:
        """Store a single value."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def fitted(self) -> dict[str, FittedItem]:
        """The items of the dataset that the model is fitted on, those left out as broken too."""
        with self._reading():
            rows = self._connection.execute("SELECT id, content, labels FROM fitted").fetchall()
        return {id: FittedItem(content, tuple(json.loads(labels))) for id, content, labels in rows}

    def indexed(self) -> dict[str, str]:
        """The signature of each item when it was last brought into the index."""
        with self._reading():
            return dict(self._connection.execute("SELECT id, signature FROM indexed"))

    def plan(self, items: "Mapping[str, SourceItem]") -> None:
        """Note that a dataset is about to be made of these items."""
        rows = [(item.id, item.content, item.signature, json.dumps(item.labels)) for item in items.values()]
        with self._writing() as connection:
            connection.execute("DELETE FROM planned")
            connection.executemany("INSERT INTO planned VALUES (?, ?, ?, ?)", rows)

    def is_planned(self) -> bool:
        """Whether a dataset was planned of which it is not noted that it is made."""
        with self._reading():
            return self._connection.execute("SELECT 1 FROM planned LIMIT 1").fetchone() is not None

    def ingested(self, dataset: str) -> None:
        """Note that the planned dataset is made; nothing of it is in the index yet."""
        with self._writing() as connection:
            connection.execute("DELETE FROM fitted")
            connection.execute("DELETE FROM indexed")
            connection.execute("INSERT INTO fitted SELECT * FROM planned")
            connection.execute("DELETE FROM planned")
            connection.execute("INSERT OR REPLACE INTO facts VALUES ('dataset', ?)", (dataset,))

    def built(self) -> None:
        """Note that an index was built of exactly the dataset's items."""
        with self._writing() as connection:
            connection.execute("DELETE FROM indexed")
            connection.execute("INSERT INTO indexed SELECT id, signature FROM fitted")

    def changed(self, items: "Iterable[SourceItem]") -> None:
        """Note that these items are in the index as they are now."""
        rows = [(item.id, item.signature) for item in items]
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO indexed VALUES (?, ?)", rows)

    def removed(self, ids: Iterable[str]) -> None:
        """Note that these items are in the index no more."""
        with self._writing() as connection:
            connection.executemany("DELETE FROM indexed WHERE id = ?", [(id,) for id in ids])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn an error of SQLite into one sentence."""
        try:
            yield
        except sqlite3.Error as error:
            raise DataError(f"{self._file} cannot be read ({error}); delete it to rebuild everything.") from None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Make a change that is whole or not made at all."""
        try:
            with self._connection:
                yield self._connection
        except sqlite3.Error as error:
            raise DataError(
                f"{self._file} cannot be written ({error}); free space on its disk, then run the same command again."
            ) from None
