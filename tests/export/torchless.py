"""Processes that have no torch: whoever asks for it is refused and written down."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

_BLOCKER = """
import os, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            with open(os.environ["TORCH_WAS_ASKED_FOR"], "a") as file:
                file.write(name + "\\n")
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""


class Torchless:
    """Runs `diptych` in processes that cannot import torch.

    Attributes:
        asked: a file with the name of each module of torch that was asked for; absent if none was.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(_BLOCKER)  # Python imports it before anything else
        self.asked = folder / "asked.txt"
        self._environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
            "TORCH_WAS_ASKED_FOR": str(self.asked),
            "OMP_NUM_THREADS": "1",
        }

    def python(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run Python to its end."""
        command = [sys.executable, *map(str, words)]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=300, check=False)

    def diptych(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return self.python("-m", "diptych.cli", *words)

    @contextmanager
    def served(self, index: Path):
        """A client of `diptych serve`, once it is ready."""
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "diptych.cli", "serve", str(index), "--port", str(port)]
        process = subprocess.Popen(command, env=self._environment, stderr=subprocess.PIPE, text=True)
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                _wait(process, client)
                yield client
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


def _wait(process: subprocess.Popen[str], client: httpx.Client) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        assert process.poll() is None, process.stderr.read()
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the server did not become ready")
