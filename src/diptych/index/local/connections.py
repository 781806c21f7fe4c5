"""Connections to SQLite: one for reading per thread, and one for writing; and the change counter.

The change counter is a number in shared memory that every writer sets after its change, so that readers notice changes
without asking SQLite. A change is acknowledged only after the number is set, so a search that finds the number it knows
has missed nothing that was acknowledged. A writer killed in between leaves it unset; therefore SQLite itself is asked
now and then.
"""

import mmap
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diptych._core.errors import ConfigError, DataError
from diptych.index.local.database import connect, read_state

FILE = "pulse.u64"
_ASK_EVERY_S = 0.05


class ChangeCounter:
    """The number of the last change, as writers of all processes tell it."""

    def __init__(self, folder: Path) -> None:
        self._number = _mapped(folder / FILE)
        self._known = -1
        self._ask_at = 0.0

    def is_known(self) -> bool:
        """Whether nothing was acknowledged since `know`, and SQLite was asked recently."""
        return self._number is not None and self._number[0] == self._known and time.monotonic() < self._ask_at

    def look(self) -> int:
        """The number now."""
        return -1 if self._number is None else self._number[0]

    def know(self, number: int) -> None:
        """Remember a number that was looked at before the state of SQLite was read."""
        self._known, self._ask_at = number, time.monotonic() + _ASK_EVERY_S

    def forget(self) -> None:
        """Know nothing, so that the next one to ask goes to SQLite."""
        self._known = -1

    def tell(self, number: int) -> None:
        """Set the number, as a writer."""
        if self._number is not None:
            self._number[0] = number


def _mapped(path: Path) -> "memoryview[int] | None":
    """Eight bytes shared by all who map the file; None where it cannot be written."""
    try:
        with path.open("ab") as file:
            if file.tell() < 8:
                file.truncate(8)
        with path.open("r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
    except OSError:
        return None


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
        self.change_counter = ChangeCounter(folder)
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
                self.change_counter.tell(change)
            except BaseException as error:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise DataError(f"the change could not be written and was undone: {error}.") from error
                raise

    def close(self) -> None:
        """Close them all."""
        self._closed = True
        self.change_counter.forget()
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
