"""Real processes to attack: commands that can be killed in the middle of their work, and servers."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

SOURCE = Path(__file__).parents[2] / "src"
_COMMAND = """
import importlib, sys
from diptych.cli.main import COMMANDS, run
importlib.import_module(f"diptych.cli.{COMMANDS[sys.argv[1]].module}")
for name in ("data", "features", "ingest", "methods", "search", *sys.argv.pop(2).split(",")):
    importlib.import_module(f"diptych.{name}")
print("ready", flush=True)
sys.stdin.readline()
run()
"""


def environment(**more):
    """The variables of a process of ours."""
    return os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"} | {k: str(v) for k, v in more.items()}


class Command:
    """A command that has imported what it needs, some modules of ours besides, and waits for the word to begin."""

    def __init__(self, words, modules=("api",), **variables):
        command, *rest = map(str, words)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND, command, ",".join(modules), *rest],
            env=environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def begin(self):
        """Let it go on once it is ready."""
        line = self.process.stdout.readline()
        assert line == "ready\n", line + self.process.stderr.read()
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def finish(self, timeout_s=300):
        """Wait for its end; returns its exit status and what it said on standard error."""
        _, said = self.process.communicate(timeout=timeout_s)
        return self.process.returncode, said

    def kill_after(self, delay_s):
        """Kill it, if it still runs then; returns whether it was killed. Its children must end by themselves."""
        try:
            self.process.wait(delay_s)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
        _, self.said = self.process.communicate()
        return self.process.returncode == -signal.SIGKILL


class Commands:
    """The same command again and again; the next ones get ready while one works."""

    def __init__(self, words, modules=("api",), ahead=2, **variables):
        self._next = lambda: Command(words, modules, **variables)
        self._ready = deque(self._next() for _ in range(ahead))

    def begin(self):
        """Let the next one begin."""
        self._ready.append(self._next())
        command = self._ready.popleft()
        command.begin()
        return command

    def close(self):
        """End those that have not begun."""
        for command in self._ready:
            command.process.kill()
            command.process.communicate()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def run_command(*words, **variables):
    """Run a command to its end; returns its exit status and what it said on standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "diptych.cli", *map(str, words)],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stderr


def free_port():
    """A port nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Server:
    """`diptych serve` as a process.

    Attributes:
        address: where it listens.
        process: itself.
        log: the file of what it says.
    """

    def __init__(self, index, log, *options, descriptors=None, **variables):
        self.port = free_port()
        self.address, self.log = f"http://127.0.0.1:{self.port}", Path(log)
        words = [sys.executable, "-m", "diptych.cli", "serve", str(index), "--port", str(self.port)]
        words += map(str, options)
        if descriptors is not None:
            words = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *words]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(words, env=environment(**variables), stdout=out, stderr=out)

    def wait_for(self, address, status=200, timeout_s=120):
        """Wait until an address answers so; returns how long it took."""
        started = time.monotonic()
        while True:
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            try:
                if httpx.get(self.address + address, timeout=5).status_code == status:
                    return time.monotonic() - started
            except httpx.TransportError:
                pass
            assert time.monotonic() - started < timeout_s, f"{address} never answered {status}"
            time.sleep(0.05)

    def megabytes(self, name="VmRSS"):
        """Memory in use now (VmRSS) or at most since `forget_peak` (VmHWM)."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024

    def forget_peak(self):
        """Count the most memory in use from now on."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def stop(self, timeout_s=60):
        """End it politely; returns how long it took."""
        started = time.monotonic()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        return time.monotonic() - started


@contextmanager
def serving(index, log, *options, wait="/readyz", **more):
    """A server that is ready, for as long as the block lasts."""
    server = Server(index, log, *options, **more)
    try:
        if wait:
            server.wait_for(wait)
        yield server
    finally:
        server.stop()


def left_of(command, timeout_s=15):
    """Processes of a killed command's group that still run after a while."""
    end = time.monotonic() + timeout_s
    while True:
        found = []
        for process in psutil.process_iter():
            try:
                if os.getpgid(process.pid) == command.process.pid and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
            except (ProcessLookupError, psutil.NoSuchProcess):
                continue
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.1)
