"""How fast the server is, compared with a bare FastAPI handler that calls faiss on the same vectors.

Both servers run in their own processes under the same uvicorn, and are measured in turns. Both receive a query as
JSON (the id of an item), look up its vector, and return the ids and scores of the ten nearest neighbours. Ours also
validates the query, filters the results, reads the items' metadata, counts the request, and sends security headers.
The client is a plain loop over open sockets, so that it costs as little as possible.

- `rps_<n>`, `p50_ms_<n>`, `p99_ms_<n>`: with n concurrent clients; `bare_…` are those of the bare handler.
- `ratio_<n>`: our requests per second divided by those of the bare handler, median over the turns; the aim is 0.8.

DIPTYCH_BENCH_HTTP=items,seconds,turns sets other sizes.
"""

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.seeding import generator

DIMENSION, K = 256, 10
CLIENTS = (1, 8, 64)
SIZES = "10000,3,7"
VECTORS = "vectors.npy"


def run() -> dict[str, Any]:
    """Measure both servers."""
    items, seconds, turns = (int(value) for value in os.environ.get("DIPTYCH_BENCH_HTTP", SIZES).split(","))
    figures: dict[str, Any] = {"items": items, "dimension": DIMENSION, "k": K, "seconds": seconds, "turns": turns}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / VECTORS, _vectors(items))
        started = {kind: _Server(kind, folder) for kind in ("ours", "bare")}
        try:
            for clients in CLIENTS:
                figures |= _compared(started, clients, items, seconds, turns)
        finally:
            for server in started.values():
                server.stop()
    return figures


def _vectors(count: int) -> Singles:
    rows = generator(0, "benchmark", "http").standard_normal((count, DIMENSION), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _compared(servers: dict[str, "_Server"], clients: int, items: int, seconds: int, turns: int) -> dict[str, float]:
    rates: dict[str, list[float]] = {kind: [] for kind in servers}
    waits: dict[str, list[float]] = {kind: [] for kind in servers}
    for server in servers.values():
        asyncio.run(_load(server.port, server.request, clients, items, 0.5))
    for _ in range(turns):
        for kind, server in servers.items():
            taken, waited = asyncio.run(_load(server.port, server.request, clients, items, seconds))
            rates[kind].append(len(waited) / taken)
            waits[kind] += waited
    found: dict[str, float] = {}
    for kind, prefix in (("ours", ""), ("bare", "bare_")):
        found[f"{prefix}rps_{clients}"] = statistics.median(rates[kind])
        found[f"{prefix}p50_ms_{clients}"] = 1000 * float(np.percentile(waits[kind], 50))
        found[f"{prefix}p99_ms_{clients}"] = 1000 * float(np.percentile(waits[kind], 99))
    ratios = [ours / bare for ours, bare in zip(rates["ours"], rates["bare"], strict=True)]
    return found | {f"ratio_{clients}": statistics.median(ratios)}


async def _load(port: int, request: Any, clients: int, items: int, seconds: float) -> tuple[float, list[float]]:  # noqa: ANN401
    """Ask from several clients for a while; the time it took and every wait."""
    waited: list[float] = []
    started = time.perf_counter()

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        turn = number
        while time.perf_counter() - started < seconds:
            sent = time.perf_counter()
            writer.write(request(f"image:{turn % items:07d}"))
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(head.decode())
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            waited.append(time.perf_counter() - sent)
            if body.count(b'"id"') != K:
                raise RuntimeError(body.decode())
            turn += clients
        writer.close()

    await asyncio.gather(*map(one, range(clients)))
    return time.perf_counter() - started, waited


class _Server:
    """One of the two servers, in a process of its own."""

    def __init__(self, kind: str, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self._kind = kind
        script = f"from benchmarks.http_servers import serve; serve({kind!r}, {str(folder)!r}, {self.port})"
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen([sys.executable, "-c", script], env=environment)
        self._wait()

    def request(self, id: str) -> bytes:
        """A query for the items near one."""
        ours = {"parts": [{"kind": "item", "id": id}], "k": K}
        body = json.dumps(ours if self._kind == "ours" else {"id": id, "k": K}).encode()
        head = "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()

    def _wait(self) -> None:
        for _ in range(1200):
            if self._process.poll() is not None:
                raise RuntimeError(f"the server {self._kind} ended")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"the server {self._kind} did not start")
