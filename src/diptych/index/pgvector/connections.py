"""Connections to one database: each call borrows one, so that threads do not wait for each other."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError
from diptych._core.optional import optional_package


def psycopg() -> Any:  # noqa: ANN401 - the type checker must do without the extra
    """Return the driver, or raise an error that names the extra."""
    return optional_package("psycopg", "the engine pgvector", "pgvector")


def register(connection: Any) -> None:  # noqa: ANN401 - see above
    """Teach a connection the type of vectors."""
    optional_package("pgvector.psycopg", "the engine pgvector", "pgvector").register_vector(connection)


def as_array(vector: Any) -> Singles:  # noqa: ANN401 - see above
    """A vector as it was read: an array in older versions of the library, an object of its own in newer ones."""
    return np.asarray(vector.to_numpy() if hasattr(vector, "to_numpy") else vector, np.float32)


_OLDEST_EXTENSION = (0, 8)
_TIMEOUT_S = 10


class Connections:
    """Idle connections are kept for the next call; broken ones are thrown away."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.shown = shown(url)
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self._closed = False

    @contextmanager
    def transaction(self, *, repeatable: bool = False) -> Iterator[Any]:
        """A transaction that ends with the block: kept if the block succeeds, undone if it does not."""
        with self.borrowed() as connection, connection.transaction():
            if repeatable:
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection

    @contextmanager
    def borrowed(self) -> Iterator[Any]:
        """A connection in which every statement is a transaction of its own."""
        connection = self._take()
        try:
            yield connection
        except psycopg().OperationalError as error:
            raise self._trouble(error) from None
        except psycopg().Error as error:
            raise DataError(f"PostgreSQL at {self.shown} refuses: {_sentence(error)}") from None
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close all; calls that are under way end first."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Any:  # noqa: ANN401 - see connections.py
        with self._lock:
            if self._closed:
                raise ConfigError("this index is closed; open it again.")
            while self._idle:
                connection = self._idle.pop()
                if not connection.closed:
                    return connection
        return self._connect()

    def _give_back(self, connection: Any) -> None:  # noqa: ANN401 - see connections.py
        with self._lock:
            if not (self._closed or connection.closed):
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> Any:  # noqa: ANN401 - see connections.py
        try:
            connection = psycopg().connect(self._url, autocommit=True, connect_timeout=_TIMEOUT_S)
        except psycopg().Error as error:
            raise self._trouble(error) from None
        try:
            _need_extension(connection, self.shown)
            register(connection)
        except psycopg().Error as error:
            connection.close()
            raise self._trouble(error) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _trouble(self, error: Exception) -> ConfigError:
        password = _parts(self._url).get("password")
        told = _sentence(error).replace(password, "…") if password else _sentence(error)
        return ConfigError(f"PostgreSQL at {self.shown} cannot be used ({told}); check --url and the server.")


def shown(url: str) -> str:
    """An address without its password."""
    parts = _parts(url)
    place = parts.get("host") or parts.get("hostaddr") or "localhost"
    return f"{place}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"


def _parts(url: str) -> dict[str, Any]:
    try:
        return dict(psycopg().conninfo.conninfo_to_dict(url))
    except psycopg().Error:  # its message repeats the address, password and all
        raise ConfigError(
            "the address of PostgreSQL is not understood; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
        ) from None


def _need_extension(connection: Any, place: str) -> None:  # noqa: ANN401 - see connections.py
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
