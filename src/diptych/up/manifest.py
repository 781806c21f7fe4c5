"""What the model was fitted on and what the index holds, item by item, in one SQLite file."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from diptych._core.errors import DataError
from diptych.up.source import SourceItem

_ITEMS = "(id TEXT PRIMARY KEY, content TEXT NOT NULL, signature TEXT NOT NULL, labels TEXT NOT NULL) WITHOUT ROWID"
_TABLES = f"""
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS planned {_ITEMS};
CREATE TABLE IF NOT EXISTS fitted {_ITEMS};
CREATE TABLE IF NOT EXISTS indexed (id TEXT PRIMARY KEY, signature TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Fitted:
    """An item as the model saw it."""

    content: str
    labels: tuple[str, ...]


class Manifest:
    """The record of one search folder; every change of it is whole or not made at all."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._connection = sqlite3.connect(file, check_same_thread=False)
            self._connection.executescript(_TABLES)
        except sqlite3.Error as error:
            raise DataError(f"{file} cannot be read ({error}); delete it, and everything is made anew.") from None

    def fact(self, name: str) -> str | None:
        """A single value: "source" or "dataset"."""
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def note(self, name: str, value: str) -> None:
        """Keep a single value."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def fitted(self) -> dict[str, Fitted]:
        """The items of the dataset that the model is fitted on, those left out as broken too."""
        rows = self._connection.execute("SELECT id, content, labels FROM fitted")
        return {id: Fitted(content, tuple(json.loads(labels))) for id, content, labels in rows}

    def indexed(self) -> dict[str, str]:
        """The signature of each item when it was last brought into the index."""
        return dict(self._connection.execute("SELECT id, signature FROM indexed"))

    def plan(self, items: Mapping[str, SourceItem]) -> None:
        """Note that a dataset is about to be made of these items."""
        rows = [(item.id, item.content, item.signature, json.dumps(item.labels)) for item in items.values()]
        with self._connection:
            self._connection.execute("DELETE FROM planned")
            self._connection.executemany("INSERT INTO planned VALUES (?, ?, ?, ?)", rows)

    def is_planned(self) -> bool:
        """Whether a dataset was planned of which it is not noted that it is made."""
        return self._connection.execute("SELECT 1 FROM planned LIMIT 1").fetchone() is not None

    def ingested(self, dataset: str) -> None:
        """Note that the planned dataset is made; nothing of it is in the index yet."""
        with self._connection:
            self._connection.execute("DELETE FROM fitted")
            self._connection.execute("DELETE FROM indexed")
            self._connection.execute("INSERT INTO fitted SELECT * FROM planned")
            self._connection.execute("DELETE FROM planned")
            self._connection.execute("INSERT OR REPLACE INTO facts VALUES ('dataset', ?)", (dataset,))

    def built(self) -> None:
        """Note that an index was built of exactly the dataset's items."""
        with self._connection:
            self._connection.execute("DELETE FROM indexed")
            self._connection.execute("INSERT INTO indexed SELECT id, signature FROM fitted")

    def changed(self, items: Iterable[SourceItem]) -> None:
        """Note that these items are in the index as they are now."""
        rows = [(item.id, item.signature) for item in items]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO indexed VALUES (?, ?)", rows)

    def removed(self, ids: Iterable[str]) -> None:
        """Note that these items are in the index no more."""
        with self._connection:
            self._connection.executemany("DELETE FROM indexed WHERE id = ?", [(id,) for id in ids])

    def close(self) -> None:
        """Give back the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
