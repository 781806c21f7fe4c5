"""Serve an index from this process, so that it can be changed while it is searched."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import uvicorn

from diptych._core.errors import ConfigError, DataError
from diptych._core.processes import give_memory_back
from diptych.search import NewItem, Searcher
from diptych.serving import ServingSettings, create_app
from diptych.serving.errors import Problem
from diptych.serving.process import server_options
from diptych.serving.service import SearchService

T = TypeVar("T")
_START_S, _WRITE_S, _END_S = 120.0, 600.0, 30.0


class ServedIndex:
    """An index behind a running server, changed by the same path as by its API: one write at a time."""

    def __init__(self, service: SearchService, loop: asyncio.AbstractEventLoop) -> None:
        self._service, self._loop = service, loop

    def add(self, items: Sequence[NewItem], *, replace: bool = False) -> int:
        """Embed and add items, all or none."""
        return self._done(self._service.add(items, replace=replace))

    def remove(self, ids: Sequence[str]) -> int:
        """Remove entries; ids that are not there are passed over."""
        return self._done(self._service.remove(ids)) if ids else 0

    def _done(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(_WRITE_S)
        except Problem as problem:
            raise DataError(str(problem)) from None


class Server(uvicorn.Server):
    """A server of one index, with events for its start and its end; it closes the searcher when it ends."""

    def __init__(self, searcher: Searcher, settings: ServingSettings) -> None:
        give_memory_back()
        self._app = create_app(searcher, settings)
        options = server_options(settings)
        plain = {name: value for name, value in options.items() if name not in ("factory", "workers")}
        super().__init__(uvicorn.Config(self._app, **plain))
        self.ready, self.ending = threading.Event(), threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def index(self) -> ServedIndex:
        """The index that is served, once the server is ready."""
        assert self._loop is not None, "the server is not ready"
        return ServedIndex(self._app.state.service, self._loop)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was accepted, then end."""
        self.ending.set()
        await super().shutdown(sockets)


def listening(host: str, port: int) -> socket.socket:
    """A socket at the port, or at any other free one if that is taken.

    Raises:
        ConfigError: when nobody can listen at the host.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError):
        pass
    try:
        return socket.create_server((host, 0), family=family)
    except OSError as error:
        raise ConfigError(f"cannot listen at {host} ({error.strerror}); choose another --host.") from None


def serve(server: Server, listener: socket.socket, when_ready: Callable[[], None]) -> None:
    """Serve until a signal says stop.

    Args:
        server: what to run.
        listener: where.
        when_ready: called in a thread of its own once the server answers; it has to end soon after `server.ending`.
    """

    def begin() -> None:
        server.ready.wait()
        if not server.ending.is_set():
            when_ready()

    thread = threading.Thread(target=begin, daemon=True)
    thread.start()
    try:
        server.run([listener])
    finally:
        server.ending.set()
        server.ready.set()  # for a server that never came so far
        thread.join(_END_S)


@contextmanager
def served(server: Server, listener: socket.socket) -> Iterator[None]:
    """Serve in a thread for as long as the block lasts.

    Raises:
        DataError: when the server does not start.
    """
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    try:
        if not server.ready.wait(_START_S):
            raise DataError(f"the server was not ready after {_START_S:.0f} seconds.")
        yield
    finally:
        server.should_exit = True
        thread.join(_END_S)
