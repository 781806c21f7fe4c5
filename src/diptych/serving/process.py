"""Run a server: one process, or several that share a port."""

import ctypes
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from diptych._core.errors import ConfigError
from diptych.search import Searcher
from diptych.serving.app import create_app
from diptych.serving.connections import PatientProtocol, backlog, want_descriptors
from diptych.serving.metrics import TOGETHER
from diptych.serving.settings import INDEX, ServingSettings

_FIGURES = "diptych-metrics-"
_DAY_S = 86_400
_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 4 * 2**20
"""How glibc calls the size from which memory is taken from the system, and given back to it, block by block."""
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
        "log_level": "error",  # what strangers send is answered, not logged
        "ws": "none",
        "http": PatientProtocol,
        "backlog": backlog(),
        "proxy_headers": settings.trust_proxy is not None,
        "forwarded_allow_ips": settings.trust_proxy,
    }


def give_memory_back() -> None:
    """Have the C library return large blocks to the system as soon as they are free.

    It otherwise learns from the first large image to keep such blocks, in pieces that fit nothing else.
    """
    try:
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
    except (AttributeError, OSError, TypeError):  # another C library, which has its own ways
        return


def app_from_environment() -> FastAPI:
    """The application of one worker."""
    give_memory_back()
    settings = ServingSettings.from_environment(os.environ)
    searcher = Searcher.open(os.environ[INDEX], writable=settings.write_key is not None)
    searcher.warm()
    return create_app(searcher, settings)


def check_place(place: Path, host: str, port: int) -> None:
    """Find out what cannot work before any worker is started.

    Raises:
        DiptychError: when the folder is no index, or nobody can listen at the address.
    """
    Searcher.open(place).close()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise ConfigError(f"cannot listen at {host}, port {port} ({error.strerror}); choose another --port.") from None
