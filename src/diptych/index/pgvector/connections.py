"""Connections to one database: each call borrows one, so that threads do not wait for each other.

A server that is away, frozen or starting is told apart from a request that is wrong, within seconds. A statement may
take as long as its limit; while it takes long, the server is asked on a second connection whether it still lives.
"""

import logging
import select
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import (
    BackendUnavailableError,
    ConfigError,
    DataError,
    DiptychError,
    TimeLimitError,
    optional_package,
)

_OLDEST_EXTENSION = (0, 8)
_CONNECT_S = 3
_SILENT_S = 1.5
"""So long a statement may take before the server is pinged, repeatedly."""
_PROBE_S = 2
_LIMITS = "SELECT set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false)"

_log = logging.getLogger(__name__)


def psycopg() -> Any:  # noqa: ANN401 - the type checker must do without the extra
    """Return the driver, or raise an error that names the extra."""
    return optional_package("psycopg", "the engine pgvector", "pgvector")


def register(connection: Any) -> None:  # noqa: ANN401 - see above
    """Teach a connection the type of vectors."""
    optional_package("pgvector.psycopg", "the engine pgvector", "pgvector").register_vector(connection)


def as_array(vector: Any) -> Singles:  # noqa: ANN401 - see above
    """Return a vector as it was read: an array in older versions of the library, an object of its own in newer ones."""
    return np.asarray(vector.to_numpy() if hasattr(vector, "to_numpy") else vector, np.float32)


class Connections:
    """Idle connections are kept for the next call; broken ones are thrown away.

    Args:
        url: the address of the database.
        time_limit_s: how long a statement may take that only reads; None for no limit.
        wait_s: how long to wait for what others have locked.
    """

    def __init__(self, url: str, *, time_limit_s: float | None = 30.0, wait_s: float = 5.0) -> None:
        self._url = url
        self._limits = [f"{1_000 * (time_limit_s or 0):.0f}ms", f"{1_000 * wait_s:.0f}ms"]
        self.shown = shown(url)
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self._closed = False
        self._was_used = False

    @contextmanager
    def transaction(self, *, repeatable: bool = False, limited: bool = True) -> Iterator[Any]:
        """Run a transaction that ends with the block: kept if the block succeeds, undone if it does not.

        Args:
            repeatable: every statement sees the same items.
            limited: cancel statements that take too long.
        """
        with self.borrowed() as connection, connection.transaction():
            if repeatable:
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            if not limited:
                connection.execute("SET LOCAL statement_timeout = 0")
            yield connection

    @contextmanager
    def borrowed(self, *, limited: bool = True) -> Iterator[Any]:
        """Lend a connection in which every statement is a transaction of its own."""
        connection = self._take()
        try:
            if not limited:
                connection.execute("SET statement_timeout = 0")
            try:
                yield connection
            finally:
                if not limited and not connection.closed:
                    connection.execute(_LIMITS, self._limits)
        except psycopg().Error as error:
            raise self._explained(error) from None
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close all; calls that are under way end first."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Any:  # noqa: ANN401 - see above
        with self._lock:
            if self._closed:
                raise ConfigError("this index is closed; open it again.")
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed and not _has_news(connection):
                    return connection
                connection.close()  # the server has ended it, as when it was restarted
        return self._connect()

    def _give_back(self, connection: Any) -> None:  # noqa: ANN401 - see above
        with self._lock:
            if not (self._closed or connection.closed):
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> Any:  # noqa: ANN401 - see above
        try:
            connection = _watched_class().connect(self._url, autocommit=True, connect_timeout=_CONNECT_S)
        except psycopg().Error as error:
            raise self._explained(error) from None
        try:
            if not self._was_used:
                _need_extension(connection, self.shown)
            register(connection)
            connection.execute(_LIMITS, self._limits)
        except psycopg().Error as error:
            connection.close()
            raise self._explained(error) from None
        except BaseException:
            connection.close()
            raise
        self._was_used = True
        return connection

    def _explained(self, error: Exception) -> DiptychError:
        """Return one of our errors; clients may read it, unless it is the operator who gave a wrong address."""
        errors = psycopg().errors
        if isinstance(error, errors.QueryCanceled):
            return TimeLimitError("the query took longer than allowed and was cancelled; narrow its condition.")
        password = _parts(self._url).get("password")
        told = _sentence(error).replace(password, "…") if password else _sentence(error)
        if not isinstance(error, psycopg().OperationalError | psycopg().InterfaceError):
            return DataError(f"PostgreSQL refuses: {told}")
        details = f"PostgreSQL at {self.shown} cannot be used ({told}); check --url and the server."
        if not self._was_used and not _is_absence(told):
            return ConfigError(details)
        _log.warning("PostgreSQL at %s cannot be used now: %s", self.shown, told)
        return BackendUnavailableError(f"the database of the index cannot be used now: {_reason(error)}.", details)


def shown(url: str) -> str:
    """Return an address without its password."""
    parts = _parts(url)
    place = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"{place}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


@cache
def _watched_class() -> Any:  # noqa: ANN401 - see above
    """Return a class of connections that notice when the server has stopped to answer."""

    class WatchedConnection(psycopg().Connection):  # type: ignore[misc]
        def wait(self, generator: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as in the driver
            return super().wait(_watched(generator, self._require_life), *args, **options)

        def _require_life(self) -> None:
            known = {"password": self.info.password, "connect_timeout": _PROBE_S}
            try:
                psycopg().Connection.connect(self.info.dsn, **known).close()
            except psycopg().errors.ConnectionTimeout:
                self.close()
                raise psycopg().errors.ConnectionTimeout("the server does not answer") from None
            except psycopg().Error:
                pass  # that is an answer, too; if the server is gone, this connection will be told

    return WatchedConnection


def _watched(generator: Any, require_life: Callable[[], None]) -> Generator[Any, Any, Any]:  # noqa: ANN401 - see above
    """Pass on what the driver waits for; it comes back several times a second while there is no answer."""
    asked = time.monotonic()
    try:
        wanted = next(generator)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() - asked > _SILENT_S:
                require_life()
                asked = time.monotonic()
            wanted = generator.send(ready)
    except StopIteration as done:
        return done.value


def _has_news(connection: Any) -> bool:  # noqa: ANN401 - see above
    """Whether the server has said something that nobody asked for: that it ends the connection, in general."""
    if not hasattr(select, "poll"):
        return bool(select.select([connection.pgconn.socket], [], [], 0)[0])
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))


_REFUSALS_FOR_NOW = ("starting up", "shutting down", "recovery", "too many clients", "connection slots")


def _is_absence(told: str) -> bool:
    """Whether a first connection failed for now: nobody answered, or the server said that it cannot yet.

    A wrong password or database is refused by the server ("FATAL: ..."), and no waiting mends it. The driver tells
    these apart by their text alone.
    """
    return "FATAL:" not in told or any(words in told for words in _REFUSALS_FOR_NOW)


def _reason(error: Exception) -> str:
    """Say why, without the address that the server's own words hold."""
    errors = psycopg().errors
    if isinstance(error, errors.ConnectionTimeout):
        return "it does not answer; try again later"
    if isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure):
        return "others are changing the same items; try again"
    if isinstance(error, errors.DiskFull):
        return "its disk is full"
    if isinstance(error, errors.CannotConnectNow | errors.AdminShutdown | errors.CrashShutdown):
        return "it is being restarted; try again later"
    return "it cannot be reached; try again later"


def _parts(url: str) -> dict[str, Any]:
    try:
        return dict(psycopg().conninfo.conninfo_to_dict(url))
    except psycopg().Error:  # its message repeats the address, password and all
        raise ConfigError(
            "the address of PostgreSQL is not understood; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None


def _need_extension(connection: Any, place: str) -> None:  # noqa: ANN401 - see above
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (psycopg().errors.UniqueViolation, psycopg().errors.DuplicateObject):
        pass  # another connection was quicker
    except psycopg().Error as error:
        raise ConfigError(
            f"PostgreSQL at {place} has no extension pgvector ({_sentence(error)}); install it."
        ) from None
    (version,) = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_EXTENSION:
        raise ConfigError(
            f"PostgreSQL at {place} has pgvector {version}; 0.8 is the oldest that finds k under filters."
        )


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split())
