"""How the demo ends: a running search, a search that is tried and stopped, or the command to start one."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rich.console import Console

from diptych.cli.saying import say
from diptych.cli.serve import serve
from diptych.experiments.showcase import TrialError, try_server
from diptych.experiments.showcase.visitor import Visitor
from diptych.search import Searcher
from diptych.search.keeper import URL_VARIABLE

_HOST = "127.0.0.1"
_START_S, _STOP_S, _PAUSE_S = 180.0, 60.0, 0.2
_OWN_VARIABLES = ("DIPTYCH_READ_KEY", "DIPTYCH_WRITE_KEY", URL_VARIABLE)
"""What the user's environment says of other servers; the demo's has no keys."""


def serve_for_people(index: Path, port: int, messages: Console) -> None:
    """Serve until Ctrl-C, at the port if it is free and at another otherwise."""
    chosen = free_port(port)
    if chosen != port:
        say(messages, f"port {port} cannot be had, so another was chosen")
    for name in _OWN_VARIABLES:
        os.environ.pop(name, None)
    say(messages, f"search the emoji at http://{_HOST}:{chosen}")
    serve(index, host=_HOST, port=chosen)


def serve_for_a_check(index: Path, port: int, messages: Console) -> None:
    """Start `diptych serve`, try everything over HTTP, stop it.

    Raises:
        TrialError: when something is not as it should be.
    """
    with running(index, free_port(port)) as address, Searcher.open(index) as searcher:
        say(messages, f"serving at {address}; checking")
        for said in try_server(address, searcher):
            say(messages, f"  ✓ {said}")
    say(messages, "  ✓ it stopped when it was asked to")


@contextmanager
def running(index: Path, port: int) -> Iterator[str]:
    """`diptych serve` as a process of its own; its address, once it is ready. It has to end well when asked to."""
    command = [sys.executable, "-m", "diptych.cli", "serve", str(index), "--host", _HOST, "--port", str(port)]
    environment = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
    address = f"http://{_HOST}:{port}"
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            _wait_until_ready(process, address, said)
            yield address
            process.terminate()
            if process.wait(_STOP_S) not in (0, -15, 143):
                raise TrialError(f"the server ended with status {process.returncode}: {_last_words(said)}")
        except subprocess.TimeoutExpired:
            raise TrialError(f"the server did not stop within {_STOP_S:.0f} seconds.") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def free_port(wanted: int) -> int:
    """The port itself, or any other if it cannot be had."""
    try:
        with socket.create_server((_HOST, wanted)):
            return wanted
    except OSError:
        with socket.create_server((_HOST, 0)) as found:
            return int(found.getsockname()[1])


def command_to_serve(index: Path, port: int) -> str:
    """What to type to start the search later."""
    return f"diptych serve {index} --port {port}"


def _wait_until_ready(process: "subprocess.Popen[bytes]", address: str, said: IO[str]) -> None:
    visitor, until = Visitor(address), time.monotonic() + _START_S
    while visitor.get("/readyz").status != 200:
        if process.poll() is not None:
            raise TrialError(f"the server did not start: {_last_words(said)}")
        if time.monotonic() > until:
            raise TrialError(f"the server was not ready after {_START_S:.0f} seconds: {_last_words(said)}")
        time.sleep(_PAUSE_S)


def _last_words(said: IO[str]) -> str:
    said.seek(0)
    return said.read().strip()[-500:] or "it said nothing."
