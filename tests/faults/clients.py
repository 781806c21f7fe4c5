"""Clients, friendly and hostile, over plain sockets and httpx.

Run as a program it asks a server under laborious conditions for a while, and prints how often and what it answered.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np


class Load:
    """Clients that send the same requests without end; `statuses` and `waits` say what came of it.

    Args:
        address: of the server.
        requests: one function of an `httpx.Client` for each client, which sends a request and returns the answer.
        pause_s: of a client after each request.
    """

    def __init__(self, address, requests, pause_s=0.0):
        self.statuses, self.waits, self.errors = Counter(), [], []
        self.seen = []
        self._address, self._pause_s, self._stop = address, pause_s, threading.Event()
        self._threads = [threading.Thread(target=self._send, args=(request,)) for request in requests]
        for thread in self._threads:
            thread.start()

    def end(self):
        """Stop all clients."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self

    def percentile_ms(self, share):
        """The time within which this share of the requests were answered."""
        return 1_000 * float(np.percentile(self.waits, share))

    def _send(self, request):
        with httpx.Client(base_url=self._address, timeout=120) as client:
            while not self._stop.is_set():
                started = time.monotonic()
                try:
                    status = request(client).status_code
                except httpx.TransportError as error:
                    status = type(error).__name__
                    self.errors.append(error)
                self.waits.append(time.monotonic() - started)
                self.seen.append((started, status))
                self.statuses[status] += 1
                time.sleep(self._pause_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def searching(text="a red wall"):
    """A search by text alone, as people send it."""
    return lambda client: client.get("/v1/search", params={"q": text})


def searching_under(where):
    """A search under a condition."""
    body = {"parts": [{"kind": "text", "text": "red"}], "where": where}
    return lambda client: client.post("/v1/search", json=body)


def raw_answer(port, data, timeout_s=30):
    """Send bytes as they are; returns the status line of the answer, "" if the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as connection:
        try:
            connection.sendall(data)
            return connection.recv(65_536).split(b"\r\n", 1)[0].decode("latin-1")
        except (ConnectionError, TimeoutError) as error:
            return type(error).__name__


def leave(port, data):
    """Send bytes and go away."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(data)


MANY = ",".join(["1"] * 4_900)
LABORIOUS = [
    searching_under(f"a in ({MANY})"),
    searching_under(f"text in ({MANY}) or not label in (2)"),
    searching_under("text like '%a%a%a%a%a%a%a%a%a%a%a%a%b'"),
    lambda client: client.get("/v1/items", params={"where": f"n in ({MANY})"}),
]


@contextmanager
def laborious_load(address, seconds):
    """Eight clients in a process of their own, which ends after so long; yields a function that waits for its count."""
    command = [sys.executable, "-m", "faults.clients", address, str(seconds)]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path}) as process:
        process.stdout.readline()  # it has begun
        yield lambda: json.loads(process.communicate()[0])


if __name__ == "__main__":
    with Load(sys.argv[1], LABORIOUS * 2) as load:
        os.write(1, b"begun\n")
        time.sleep(float(sys.argv[2]))
    os.write(1, json.dumps(load.statuses).encode())
