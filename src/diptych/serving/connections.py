"""Connections to the server: headers have to arrive in time, and no more are open than there are descriptors for."""

import asyncio
import os
from collections import OrderedDict
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

from diptych.serving.settings import SETTINGS, ServingSettings

try:
    import resource
except ModuleNotFoundError:  # not on Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

_KEPT = 64
"""Descriptors for everything else: files of the index, logs, temporary files."""
_PLENTY = 65_536

_waiting: WeakKeyDictionary[ServerState, "OrderedDict[PatientProtocol, None]"] = WeakKeyDictionary()
"""Connections between requests, by server, the one that has been so for longest first."""


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's protocol, with a limit on how long headers may take and on how many connections there are.

    When there are too many, the one that has gone longest without a request is closed: a half-sent header makes way
    for whoever comes, and nobody who is being answered is cut off.
    """

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - whatever uvicorn gives
        super().__init__(*given, **named)
        self._timeout_s, self._most = _limits(os.environ.get(SETTINGS, "{}"))
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self._wait_for_headers()
        if len(self.connections) > self._most:
            oldest, _ = self._idle.popitem(last=False)
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Part of a request, perhaps not even its headers, has come."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_headers()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """An answer has gone out; the connection may be used again."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._idle[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _idle(self) -> "OrderedDict[PatientProtocol, None]":
        return _waiting.setdefault(self.server_state, OrderedDict())

    def _wait_for_headers(self) -> None:
        self._idle.setdefault(self, None)
        if self._timer is None:
            self._timer = self.loop.call_later(self._timeout_s, self._give_up)

    def _stop_waiting(self) -> None:
        self._idle.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.abort()


@lru_cache(maxsize=1)
def _limits(written: str) -> tuple[float, int]:
    """How long headers may take, and how many connections there may be; workers have settings by the environment."""
    settings = ServingSettings.from_environment({SETTINGS: written})
    return settings.header_timeout_s, min(settings.max_connections, _available() // 2)


def backlog() -> int:
    """Connections that are accepted at once; all of them are open before the first can be refused."""
    return max(4, min(256, _available() // 8))


def want_descriptors(connections: int) -> None:
    """Have the system allow as many descriptors as so many connections need, if it lets us."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + 4 * _KEPT
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _available() -> int:
    """Descriptors for connections and what they bring: half of them for uploads that are kept in files."""
    if resource is None:
        return _PLENTY
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _PLENTY if soft == resource.RLIM_INFINITY else max(8, soft - _KEPT)
