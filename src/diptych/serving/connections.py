"""Connections of a server: how many there are, how long clients may be silent, and what they may leave unread."""

import asyncio
import os
import socket
from collections import OrderedDict
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from starlette.types import Scope
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

from diptych.serving import SETTINGS, ServingSettings

try:
    import resource
except ModuleNotFoundError:  # not on Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

_KEPT = 64
"""Descriptors for everything else: files of the index, logs, temporary files."""
_PLENTY = 65_536

_MOST_UNREAD = 64 * 2**20
"""Bytes of answers that clients have not read yet, all together."""

_PIECE, _MOST_HEAD, _MOST_OVERHEAD, _MOST_PIPELINED = 2**16, 2**17, 2**15, 32
"""Bytes that are parsed at once (headers of that length get an answer of the application), bytes of headers, bytes of
chunked bodies that are no content, and requests that wait on one connection."""


class _Clients:
    """The connections of one server that wait for their clients.

    Attributes:
        silent: those that wait for the rest of a request or for the next one, the one silent for longest first.
        unread: those whose answers are not read yet, the oldest first.
    """

    def __init__(self) -> None:
        self.silent: OrderedDict[LimitedProtocol, None] = OrderedDict()
        self.unread: OrderedDict[LimitedProtocol, None] = OrderedDict()

    def make_room(self, connections: int, most: int) -> None:
        """Close the connection whose client has been silent for longest, if there are too many."""
        if connections > most and self.silent:
            oldest, _ = self.silent.popitem(last=False)
            oldest.transport.abort()

    def make_readers_hurry(self) -> None:
        """Close the connections that have been read for longest, if too much is unread."""
        sizes = {one: one.transport.get_write_buffer_size() for one in self.unread}
        total = sum(sizes.values())
        for one, size in sizes.items():
            if total <= _MOST_UNREAD:
                break
            one.transport.abort()
            del self.unread[one]
            total -= size


_clients: WeakKeyDictionary[ServerState, _Clients] = WeakKeyDictionary()


def _send_at_once(transport: asyncio.Transport) -> None:
    """Turn off the delay before small packets, which is 40 ms for each request of a connection that is kept.

    asyncio does so itself only where the socket that listens says that it is TCP. The one that several workers share,
    and one that was handed to the server, does not.
    """
    connection = transport.get_extra_info("socket")
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's protocol, with limits on what a client may keep a server waiting for.

    Headers have to come in time. When there are too many connections, the one whose client has been silent for longest
    is closed: half-sent headers and bodies make way for whoever comes, and nobody who is being answered is cut off.
    Answers have to be read: one that nobody goes on reading is thrown away, and so are the oldest when they are many.
    """

    def __init__(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - whatever uvicorn gives
        super().__init__(*given, **named)
        self._timeout_s, self._most = _limits(os.environ.get(SETTINGS, "{}"))
        self._headers_timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None
        self._head = self._overhead = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """A client has connected."""
        super().connection_made(transport)
        _send_at_once(transport)
        self._all = _clients.setdefault(self.server_state, _Clients())
        self._wait_for_headers()
        self._all.make_room(len(self.connections), self._most)

    def data_received(self, data: bytes) -> None:
        """Part of a request, perhaps not even its headers, has come."""
        for start in range(0, len(data), _PIECE):
            if not self.transport.is_closing():
                self._parse(data[start : start + _PIECE])
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_headers()
            return
        self._stop_waiting()
        if self.cycle.more_body:  # how long a body may take is limited where it is read
            self._all.silent[self] = None

    def _parse(self, piece: bytes) -> None:
        """Parse a piece of a request; one whose parsing takes far more work than its content is worth is refused.

        A chunk of one byte costs as much as one of many, and holds up everybody while it is parsed.
        """
        before = self.cycle
        held = 0 if before is None else len(before.body)
        super().data_received(piece)
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is not before or (cycle is not None and not cycle.more_body):
            self._overhead = 0
        elif cycle is not None:
            self._overhead = max(0, self._overhead + len(piece) - (len(cycle.body) - held) * 4 // 3)
        between = cycle is None or (cycle is before and cycle.response_complete and not cycle.more_body)
        self._head = self._head + len(piece) if between else 0
        chunks = self._overhead > _MOST_OVERHEAD and _is_chunked(cycle.scope)
        if chunks or self._head > _MOST_HEAD or len(getattr(self, "pipeline", ())) > _MOST_PIPELINED:
            self.send_400_response("Send larger chunks, shorter headers, or fewer requests at once.")

    def send_400_response(self, msg: str) -> None:
        """Say that a request cannot be read, unless its answer has begun, and close the connection.

        Its handler, which may have begun, is told that the client has gone: it cannot send an answer, too.
        """
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if cycle is not None and cycle.response_started and (cycle.more_body or not cycle.response_complete):
            self.transport.abort()
        else:
            super().send_400_response(msg)

    def on_response_complete(self) -> None:
        """An answer has gone out; the connection may be used again."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._all.silent[self] = None
        if self._reading_timer is None and (unread := self.transport.get_write_buffer_size()):
            self._all.unread[self] = None
            self._all.make_readers_hurry()
            self._reading_timer = self.loop.call_later(self._timeout_s, self._look_at_reader, unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._stop_waiting()
        self._all.unread.pop(self, None)
        if self._reading_timer is not None:
            self._reading_timer.cancel()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        self._all.silent.setdefault(self, None)
        if self._headers_timer is None:
            self._headers_timer = self.loop.call_later(self._timeout_s, self._give_up)

    def _stop_waiting(self) -> None:
        self._all.silent.pop(self, None)
        if self._headers_timer is not None:
            self._headers_timer.cancel()
            self._headers_timer = None

    def _give_up(self) -> None:
        self._headers_timer = None
        if not self.transport.is_closing():
            self.transport.abort()

    def _look_at_reader(self, unread_before: int) -> None:
        """Throw an answer away of which nothing was read meanwhile."""
        self._reading_timer = None
        unread = self.transport.get_write_buffer_size()
        if unread == 0:
            self._all.unread.pop(self, None)
        elif unread >= unread_before:
            self.transport.abort()
        else:
            self._reading_timer = self.loop.call_later(self._timeout_s, self._look_at_reader, unread)


def _is_chunked(scope: Scope) -> bool:
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


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
