"""Connections to SQLite: one for reading per thread, and one for writing; and the change counter.

The change counter is a number in shared memory that every writer sets after its change, so that readers notice changes
without asking SQLite. A change is acknowledged only after the number is set, so a search that finds the number it knows
has missed nothing that was acknowledged. A writer killed in between leaves it unset; therefore SQLite itself is asked
now and then.
"""

import errno
import mmap
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from diptych._core.errors import BackendUnavailableError, ConfigError
from diptych.index.local.database import FILE as DATABASE
from diptych.index.local.database import UNKNOWN, damaged, explained, open_database, read_state

FILE = "pulse.u64"
_ASK_EVERY_S = 0.05
_UNWRITTEN = 1 << 62
"""More changes than there can be: such a number is damaged itself."""
_STEPS = 100_000
"""Of SQLite's machine, some milliseconds: how often a query under a time limit looks at the clock."""
_SUBJECT = "the index"
_NO_CHECKSUMS = (
    f"CREATE TEMPORARY VIEW checksums AS SELECT row, {UNKNOWN} AS vector, {UNKNOWN} AS metadata, NULL AS words"
    " FROM items"
)
"""Stands in for the table that an index of format 1 has not."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class ChangeCounter:
    """The number of the last change, set by the writers of all processes."""

    def __init__(self, folder: Path) -> None:
        self._number = _mapped(folder / FILE)
        self._known = -1
        self._ask_at = 0.0

    def is_known(self) -> bool:
        """Whether nothing was acknowledged since `know`, and SQLite was asked recently."""
        return self._number is not None and self._number[0] == self._known and time.monotonic() < self._ask_at

    def look(self) -> int:
        """Return the number now."""
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


def missing_changes(acknowledged: int, change: int) -> list[str]:
    """Say so if the index is at an earlier change than the one that its change counter had shortly before."""
    if not change < acknowledged < _UNWRITTEN:
        return []
    return [
        f"change {acknowledged} was acknowledged but the index is at {change}: an earlier copy was put back, or the"
        " write-ahead log is damaged or missing"
    ]


def _mapped(path: Path) -> "memoryview[int] | None":
    """Map eight bytes shared by all who map the file; None where it cannot be written."""
    try:
        with path.open("ab") as file:
            if file.tell() < 8:
                file.write(bytes(8 - file.tell()))  # real ones: to write into a hole of a full disk is fatal
        with path.open("r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
    except OSError:
        return None


class Reader:
    """One thread's connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @contextmanager
    def limited(self, time_limit_s: float | None) -> Iterator[sqlite3.Connection]:
        """Cancel queries of the block in SQLite once the time is over; None for no limit."""
        if time_limit_s is None:
            yield self.connection
            return
        until = time.monotonic() + time_limit_s
        self.connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        try:
            yield self.connection
        finally:
            self.connection.set_progress_handler(None, 0)

    def __del__(self) -> None:
        self.connection.close()  # when its thread has ended


class Connections:
    """All connections of one open index."""

    def __init__(self, folder: Path, *, read_only: bool, wait_s: float) -> None:
        self._path, self._read_only, self.wait_s = folder / DATABASE, read_only, wait_s
        self._threads = threading.local()
        self._readers: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._writing = threading.Lock()
        self.change_counter = ChangeCounter(folder)
        self._writer: sqlite3.Connection | None = None
        self._closed = False

    def reader(self) -> Reader:
        """Return the connection of this thread."""
        if self._closed:
            raise ConfigError("this index is closed; open it again.")
        mine: Reader | None = getattr(self._threads, "reader", None)
        if mine is None:
            mine = self._threads.reader = Reader(_read_only(self._path, self.wait_s))
            self._readers.add(mine)
        return mine

    def renew_reader(self) -> None:
        """Give this thread a new connection, after an upgrade."""
        self._threads.reader = None

    @contextmanager
    def writer(self) -> Iterator[sqlite3.Connection]:
        """Hold the connection that writes; waits for other threads that write."""
        if self._closed:
            raise ConfigError("this index is closed; open it again.")
        if self._read_only:
            raise ConfigError("this index is open for reading only; open it without read_only to change it.")
        if not self._writing.acquire(timeout=self.wait_s):
            raise BackendUnavailableError(
                f"the index is being changed by others for more than {self.wait_s:g} s; try again later."
            )
        try:
            if self._writer is None:
                self._writer = open_database(self._path, wait_s=self.wait_s)
            yield self._writer
        finally:
            self._writing.release()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Run one change: kept when the block succeeds, undone when it fails. Waits for other writers."""
        with self.writer() as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise explained(error, _SUBJECT, self.wait_s) from error
            try:
                yield connection
                change = read_state(connection).change
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self.change_counter.tell(change)

    def close(self) -> None:
        """Close them all."""
        self._closed = True
        self.change_counter.forget()
        for reader in list(self._readers):
            reader.connection.close()
        with self._writing:
            if self._writer is not None:
                self._writer.close()


def explaining(hook: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a method of an index raise our errors where SQLite raises its own."""

    @wraps(hook)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            return hook(*args, **kwargs)
        except sqlite3.Error as error:
            raise explained(error, _SUBJECT) from error
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise BackendUnavailableError(f"{_SUBJECT} cannot be used now: the disk is full.") from error
        except UnicodeDecodeError as error:  # SQLite hands out what a damaged file says
            raise damaged("some of its text is no Unicode") from error

    return call


def _read_only(path: Path, wait_s: float) -> sqlite3.Connection:
    connection = open_database(path, wait_s=wait_s, read_only=True)
    try:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'checksums'").fetchone() is None:
            connection.execute("PRAGMA query_only = 0")
            connection.execute(_NO_CHECKSUMS)
            connection.execute("PRAGMA query_only = 1")
    except sqlite3.Error as error:
        connection.close()
        raise explained(error, _SUBJECT) from error
    return connection
