"""Run a server: one process, or several that share a port."""

import os
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from diptych.errors import ConfigError
from diptych.search import Searcher
from diptych.serving.app import create_app
from diptych.serving.metrics import TOGETHER
from diptych.serving.settings import INDEX, ServingSettings

_APPLICATION = "diptych.serving.process:app_from_environment"


def serve_index(place: str | Path, settings: ServingSettings, host: str, port: int) -> None:
    """Serve an index until a signal says stop; requests that were accepted by then are finished.

    The settings reach the workers by the environment, which other users of the machine cannot see.
    """
    os.environ |= settings.to_environment() | {INDEX: str(place)}
    with tempfile.TemporaryDirectory(prefix="diptych-metrics-") as figures, suppress(KeyboardInterrupt):
        if settings.workers > 1:
            os.environ[TOGETHER] = figures
        uvicorn.run(_APPLICATION, **server_options(settings), host=host, port=port)


def server_options(settings: ServingSettings) -> dict[str, Any]:
    """How uvicorn runs us."""
    return {
        "factory": True,
        "workers": settings.workers,
        "timeout_graceful_shutdown": max(1, round(settings.shutdown_s)),
        "timeout_worker_healthcheck": 60,  # a worker that still imports and opens its index is not dead
        "access_log": False,  # addresses hold what people search for
        "server_header": False,
        "log_level": "warning",
        "ws": "none",
    }


def app_from_environment() -> FastAPI:
    """The application of one worker."""
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
