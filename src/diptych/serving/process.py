"""Run a server: one process, several that share a port, or one inside this program, which can then change its index."""

import asyncio
import os
import shutil
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI

from diptych._core.errors import BackendUnavailableError, ConfigError, DataError
from diptych._core.files import sweep_abandoned
from diptych._core.processes import give_memory_back, settle_memory
from diptych.index import ItemLimits
from diptych.search import NewItem, Searcher
from diptych.serving import INDEX, ServingSettings
from diptych.serving.app import TOGETHER, create_app
from diptych.serving.connections import LimitedProtocol, backlog, want_descriptors
from diptych.serving.errors import Problem
from diptych.serving.keys import read_keys
from diptych.serving.service import SearchService

_FIGURES = "diptych-metrics-"
_DAY_S = 86_400
_APPLICATION = "diptych.serving.process:app_from_environment"


def serve_index(place: str | Path, settings: ServingSettings, host: str, port: int) -> None:
    """Serve an index until a signal says stop; requests that were accepted by then are finished.

    The settings reach the workers by the environment, which other users of the machine cannot see.
    """
    os.environ |= settings.to_environment() | {INDEX: str(place)}
    want_descriptors(settings.max_connections)
    with _figures_together(settings.workers), suppress(KeyboardInterrupt):
        uvicorn.run(_APPLICATION, **server_options(settings), host=host, port=port)


@contextmanager
def _figures_together(workers: int) -> Iterator[None]:
    """A folder in which several workers put their figures; those of servers that were killed are swept up."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FIGURES}*"):
        if _is_left_over(folder):
            shutil.rmtree(folder, ignore_errors=True)
    if workers < 2:
        yield
        return
    with tempfile.TemporaryDirectory(prefix=f"{_FIGURES}{os.getpid()}-") as folder_name:
        os.environ[TOGETHER] = folder_name
        yield


def _is_left_over(folder: Path) -> bool:
    """Whether a folder of figures is ours and the process that made it has gone."""
    if os.name != "posix":
        return False
    try:
        made = folder.stat()
        if made.st_uid != os.getuid():
            return False
        maker = folder.name.removeprefix(_FIGURES).partition("-")[0]
        if not maker.isdigit():  # of a version that did not write down who made it
            return time.time() - made.st_mtime > _DAY_S
        os.kill(int(maker), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def server_options(settings: ServingSettings) -> dict[str, Any]:
    """How uvicorn runs us."""
    return {
        "factory": True,
        "workers": settings.workers,
        "timeout_graceful_shutdown": max(1, round(settings.shutdown_s)),
        "timeout_worker_healthcheck": 60,  # a worker that still imports and opens its index is not dead
        "access_log": False,  # addresses hold what people search for
        "server_header": False,
        "log_level": "error",  # what clients send is answered, not logged
        "ws": "none",
        "http": LimitedProtocol,
        "backlog": backlog(),
        "proxy_headers": settings.trust_proxy is not None,
        "forwarded_allow_ips": settings.trust_proxy,
        "ssl_certfile": settings.tls_cert,
        "ssl_keyfile": settings.tls_key,
    }


def app_from_environment() -> FastAPI:
    """The application of one worker."""
    give_memory_back()
    settings = ServingSettings.from_environment(os.environ)
    asyncio.constants.SSL_HANDSHAKE_TIMEOUT = settings.header_timeout_s  # type: ignore[attr-defined]  # else a minute
    searcher = Searcher.open(
        os.environ[INDEX],
        writable=settings.writable,
        limits=ItemLimits(2**20 + settings.max_metadata_bytes, settings.max_items),
        time_limit_s=settings.query_timeout_s,
        wait_s=settings.lock_timeout_s,
        retry=True,
    )
    searcher.warm()
    app = create_app(searcher, settings)
    settle_memory()
    return app


def check_place(place: Path, settings: ServingSettings, host: str, port: int) -> str | None:
    """Find out what cannot work before any worker is started.

    Returns:
        Why the index cannot be searched yet, if its engine is away for now; a server can be started all the same.

    Raises:
        DiptychError: when the folder is no index, nobody can listen at the address, or a file cannot be used.
    """
    away = None
    try:
        Searcher.open(place).close()
    except BackendUnavailableError as error:
        away = error.details or str(error)
    if settings.keys_file is not None:
        read_keys(Path(settings.keys_file))
    if settings.tls_cert is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(settings.tls_cert, settings.tls_key)
        except (OSError, ssl.SSLError) as error:
            reason = getattr(error, "reason", None) or error.strerror or error
            raise ConfigError(f"the certificate and its key cannot be used ({reason}); give PEM files.") from None
    for path in (settings.audit_log, settings.snapshots):
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise ConfigError(f"there is no folder for {path}; make it, or choose another place.")
    if settings.snapshots is not None:
        Path(settings.snapshots).mkdir(exist_ok=True)
        sweep_abandoned(Path(settings.snapshots))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise ConfigError(f"cannot listen at {host}, port {port} ({error.strerror}); choose another --port.") from None
    return away


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
