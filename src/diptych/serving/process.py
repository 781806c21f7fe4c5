"""Run a server: one process, or several that share a port; connections and descriptors are limited."""

import asyncio
import os
import shutil
import socket
import ssl
import tempfile
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

from diptych._core.errors import BackendUnavailableError, ConfigError
from diptych._core.files import sweep_abandoned
from diptych._core.processes import give_memory_back
from diptych.index import ItemLimits
from diptych.search import Searcher
from diptych.serving.app import create_app
from diptych.serving.keys import read_keys
from diptych.serving.metrics import TOGETHER
from diptych.serving.settings import INDEX, SETTINGS, ServingSettings

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
    return create_app(searcher, settings)


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


try:
    import resource
except ModuleNotFoundError:  # not on Windows, where there is no such limit
    resource = None  # type: ignore[assignment]

_KEPT = 64
"""Descriptors for everything else: files of the index, logs, temporary files."""
_PLENTY = 65_536

_waiting: WeakKeyDictionary[ServerState, "OrderedDict[LimitedProtocol, None]"] = WeakKeyDictionary()
"""Connections between requests, by server, the one that has been so for longest first."""


class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
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
    def _idle(self) -> "OrderedDict[LimitedProtocol, None]":
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
