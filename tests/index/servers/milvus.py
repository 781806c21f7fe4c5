"""A real Milvus server, started once for a test run and shared by the processes that the tests run in."""

import contextlib
import fcntl
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

_PATIENCE_S = 300
# A test server is asked little and often: it looks for work more often than one that saves its strength.
_QUICK = ("proxy.timeTickInterval=20", "queryCoord.checkInterval=100", "queryCoord.distPullInterval=50")
_STORE = """
listen-client-urls: http://127.0.0.1:{client}
advertise-client-urls: http://127.0.0.1:{client}
listen-peer-urls: http://127.0.0.1:{peer}
initial-advertise-peer-urls: http://127.0.0.1:{peer}
initial-cluster: default=http://127.0.0.1:{peer}
"""
_LAUNCH = """
import subprocess, sys
quiet = subprocess.DEVNULL
subprocess.Popen(sys.argv[1:], stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
"""


@contextlib.contextmanager
def running_milvus(shared_folder):
    """The address of a server; the first process that asks starts it, and it ends when none needs it any more."""
    for package in ("milvus", "pymilvus"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; `make setup` installs it")
    note = Path(shared_folder) / "milvus.json"
    with _locked(note):
        if note.exists():
            server = json.loads(note.read_text())
            note.write_text(json.dumps({**server, "users": [*server["users"], os.getpid()]}))
        else:
            server = _start(note)
    _wait(server)
    try:
        yield server["url"]
    finally:
        with _locked(note):
            server = json.loads(note.read_text())
            server["users"].remove(os.getpid())
            note.write_text(json.dumps(server))


def _start(note):
    folder = Path(tempfile.mkdtemp(prefix="diptych-milvus-"))
    port, client_port, peer_port = _free_ports(3)
    # Its programs are unpacked once for all runs, which takes longer than everything else.
    unpacked = Path(sys.prefix) / "milvus-server"
    unpacked.mkdir(exist_ok=True)
    (folder / "data").mkdir()
    (folder / "data" / "bin").symlink_to(unpacked)
    command = [Path(sys.executable).with_name("milvus-server"), "--data", folder / "data", "--proxy-port", port]
    for option in _QUICK:
        command += ["--extra-config", option]
    # The store inside the server would take fixed ports, and a second server on the machine would not start.
    (folder / "etcd.yaml").write_text(_STORE.format(client=client_port, peer=peer_port))
    server = {"url": f"http://127.0.0.1:{port}", "users": [os.getpid()]}
    note.write_text(json.dumps(server))
    watcher = [sys.executable, Path(__file__).with_name("watch_milvus.py"), note, folder, *command]
    # Started by a process that ends at once, so that the watcher belongs to no test process and none must wait for it.
    subprocess.run(
        [sys.executable, "-c", _LAUNCH, *map(str, watcher)],
        env={**os.environ, "ETCD_CONFIG_PATH": str(folder / "etcd.yaml")},
        check=True,
    )
    return server


def _wait(server):
    import pymilvus

    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            client = pymilvus.MilvusClient(uri=server["url"], timeout=5)
            client.list_collections(timeout=10)
            client.close()
            return
        except pymilvus.MilvusException as error:
            if time.monotonic() > until:
                raise RuntimeError(f"the Milvus server did not start: {error}") from None
            time.sleep(0.3)


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind(("127.0.0.1", 0))
        return [str(listener.getsockname()[1]) for listener in listeners]


@contextlib.contextmanager
def _locked(note):
    with note.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
