"""Connections to SQLite: one for reading a thread, and one for writing."""

import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diptych._core.errors import ConfigError, DataError
from diptych.index.local.pulse import Pulse
from diptych.index.local.schema import connect, read_state


class Reader:
    """One thread's connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()  # when its thread has ended


class Connections:
    """All connections of one open index."""

    def __init__(self, folder: Path, *, read_only: bool, wait_s: float) -> None:
        self._folder, self._read_only, self._wait_s = folder, read_only, wait_s
        self._threads = threading.local()
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._writing = threading.Lock()
        self.pulse = Pulse(folder)
        self._writer: sqlite3.Connection | None = None
        self._closed = False

    def reader(self) -> Reader:
        """The connection of this thread."""
        if self._closed:
            raise ConfigError("this index is closed; open it again.")
        mine: Reader | None = getattr(self._threads, "reader", None)
        if mine is None:
            mine = self._threads.reader = Reader(connect(self._folder, timeout_s=self._wait_s, read_only=True))
            self._readers.add(mine)
        return mine

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: kept when the block succeeds, undone when it fails. Waits for other writers."""
        if self._closed:
            raise ConfigError("this index is closed; open it again.")
        if self._read_only:
            raise ConfigError("this index is open for reading only; open it without read_only to change it.")
        with self._writing:
            if self._writer is None:
                self._writer = connect(self._folder, timeout_s=self._wait_s, read_only=False)
            self._begin(self._writer)
            try:
                yield self._writer
                change = read_state(self._writer).change
                self._writer.execute("COMMIT")
                self.pulse.tell(change)
            except BaseException as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise DataError(f"the change could not be written and was undone: {error}.") from error
                raise

    def close(self) -> None:
        """Close them all."""
        self._closed = True
        self.pulse.forget()
        for reader in list(self._readers):
            reader.connection.close()
        with self._writing:
            if self._writer is not None:
                self._writer.close()

    def _begin(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise DataError(
                f"the index cannot be changed ({error}); if another process has been writing to it for more than"
                f" {self._wait_s:g} s, wait for it to finish."
            ) from None
