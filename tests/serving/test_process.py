"""Servers as processes: they finish what they accepted, and several share a port."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from diptych.serving import ServingSettings
from diptych.serving.process import server_options

TESTS = Path(__file__).parents[1]
RUN = """
import json, os, sys
import uvicorn
from diptych.serving import ServingSettings
from diptych.serving.process import server_options
if __name__ == "__main__":
    settings = ServingSettings.from_environment(os.environ)
    uvicorn.run("serving.slow_app:make", host="127.0.0.1", port=int(sys.argv[1]), **server_options(settings))
"""


@contextmanager
def process(
    folder: Path, settings: ServingSettings, *, log=None, descriptors: int | None = None, **variables: str
) -> Iterator[tuple[subprocess.Popen, str]]:
    """A server of its own; what it logs is kept for messages, unless it is to go elsewhere."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    script = folder / "run_server.py"
    script.write_text(RUN)
    environment = os.environ | settings.to_environment() | variables
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))}
    environment |= {"SLOW_APP_FOLDER": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script), str(port)]
    if descriptors is not None:
        command = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *command]
    running = subprocess.Popen(command, env=environment, stderr=log or subprocess.PIPE)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                if httpx.get(f"{address}/readyz", timeout=5).status_code == 200:
                    break
            except httpx.TransportError:
                assert running.poll() is None, running.stderr and running.stderr.read().decode()
            time.sleep(0.1)
        yield running, address
    finally:
        running.terminate()
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        if running.stderr:
            running.stderr.close()


def test_a_server_that_is_stopped_finishes_what_it_accepted(tmp_path) -> None:
    answers = []
    with process(tmp_path, ServingSettings(), SLOW_APP_PAUSE="1.5") as (running, address):
        asking = threading.Thread(
            target=lambda: answers.append(httpx.get(f"{address}/v1/search", params={"q": "red"}, timeout=120))
        )
        asking.start()
        while asking.is_alive() and not (tmp_path / "asked").exists():
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        asking.join(120)
        running.wait(120)
    assert [answer.status_code for answer in answers] == [200]
    assert len(answers[0].json()["hits"]) == 10
    assert len(list(tmp_path.glob("closed-*"))) == 1
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/healthz")


@pytest.mark.slow
def test_workers_share_a_port_and_their_figures(tmp_path) -> None:
    figures = tmp_path / "figures"
    figures.mkdir()
    with process(tmp_path, ServingSettings(workers=2), PROMETHEUS_MULTIPROC_DIR=str(figures)) as (_, address):
        for _ in range(40):
            assert httpx.get(f"{address}/v1/search", params={"q": "red"}).status_code == 200
        told = httpx.get(f"{address}/metrics").text
    counts = [line for line in told.splitlines() if 'route="/v1/search"' in line and "requests_total" in line]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in counts) == 40
    assert len(list(tmp_path.glob("closed-*"))) == 2


def test_addresses_with_what_people_search_for_are_not_logged() -> None:
    assert server_options(ServingSettings())["access_log"] is False
