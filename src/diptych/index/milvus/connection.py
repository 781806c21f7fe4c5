"""The connection to a server, and its errors in our words."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from diptych._core.errors import ConfigError, DataError
from diptych.index.milvus.library import pymilvus

ANSWER_S = 60.0
"""How long an answer may take, with all that the client tries again when the server is gone."""
_CONNECT_S = 10.0
_NOT_CONNECTED = 2
"""What the client calls a server that is gone."""


class Connection:
    """A client that threads may share."""

    def __init__(self, url: str) -> None:
        parts = _parts(url)
        self.shown = parts.pop("shown")
        self._secrets = [value for name in ("password", "token") if (value := parts.get(name))]
        self._client: Any = None
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs whole requests, secrets and all
        with self._told(connecting=True):
            self._client = pymilvus().MilvusClient(**parts, timeout=_CONNECT_S)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """The client; what goes wrong in the block becomes one of our errors."""
        if self._client is None:
            raise ConfigError("this index is closed; open it again.")
        with self._told(connecting=False):
            yield self._client

    def close(self) -> None:
        """Close the connection; twice does no harm."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def _told(self, *, connecting: bool) -> Iterator[None]:
        try:
            yield
        except pymilvus().MilvusException as error:
            told = " ".join(str(error.message).split())
            for secret in self._secrets:
                told = told.replace(secret, "…")
            if connecting or error.code == _NOT_CONNECTED or isinstance(error, pymilvus().MilvusUnavailableException):
                raise ConfigError(
                    f"Milvus at {self.shown} cannot be used ({told}); check --url and the server."
                ) from None
            raise DataError(f"Milvus at {self.shown} refuses: {told}") from None


def _parts(url: str) -> dict[str, Any]:
    """What the client is told; the address itself goes without the password, which it would repeat in messages."""
    usage = "write http://USER:PASSWORD@HOST:PORT/DATABASE, or https://"
    if not url:
        raise ConfigError(f"the engine milvus needs the address of a server; give --url: {usage}.")
    try:
        given = urlsplit(url)
        port = given.port or 19_530
    except ValueError:
        raise ConfigError(f"the address of Milvus is not understood; {usage}.") from None
    if given.scheme not in ("http", "https", "tcp") or not given.hostname:
        raise ConfigError(f"the address of Milvus is not understood; {usage}.")
    host = f"[{given.hostname}]" if ":" in given.hostname else given.hostname
    address = f"{given.scheme}://{host}:{port}"
    database = given.path.strip("/")
    parts: dict[str, Any] = {"uri": address, "shown": f"{address}/{database}" if database else address}
    if database:
        parts["db_name"] = unquote(database)
    if given.username and given.password:
        parts |= {"user": unquote(given.username), "password": unquote(given.password)}
    elif given.username:
        parts["token"] = unquote(given.username)
    return parts
