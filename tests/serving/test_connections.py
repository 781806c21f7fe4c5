"""Connections that send nothing, or their headers slowly, take nobody else's place."""

import http.client
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import psutil
import pytest

from diptych.serving import SETTINGS, ServingSettings, create_app
from diptych.serving.connections import LimitedProtocol
from diptych.serving.process import _figures_together, server_options
from serving import fake_searcher
from serving.asgi_client import bearer
from serving.running_server import running
from serving.test_process import process

BODY = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


def port_of(address: str) -> int:
    return int(address.rsplit(":", 1)[1])


@pytest.fixture
def connected() -> Iterator:
    """A function that connects and sends the beginning of a request."""
    opened: list[socket.socket] = []

    def connect(address: str, first: bytes = b"") -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", port_of(address)), timeout=20))
        if first:
            opened[-1].sendall(first)
        return opened[-1]

    yield connect
    for one in opened:
        one.close()


def is_closed_within(opened: socket.socket, seconds: float) -> bool:
    """Whether the server closes a connection, after whatever it had to say."""
    opened.settimeout(seconds)
    try:
        while opened.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@pytest.fixture
def served(tmp_path, monkeypatch) -> Iterator:
    """A function that serves the small world with these settings."""
    searcher = fake_searcher.filled(tmp_path)

    @contextmanager
    def serve(pause: float = 0.0, **settings) -> Iterator[str]:
        searcher.pause, given = pause, ServingSettings(**settings)
        monkeypatch.setenv(SETTINGS, given.to_environment()[SETTINGS])
        with running(create_app(searcher, given), given) as address:
            yield address

    yield serve
    searcher.close()


def test_headers_have_to_come_in_time(served, connected) -> None:
    with served(header_timeout_s=1.0) as address:
        silent, slow, kept = connected(address), connected(address, HALF), connected(address)
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in kept.recv(4096)
        kept.sendall(HALF)  # a second request on an open connection has no more time than the first
        with suppress(OSError):
            for _ in range(8):  # a byte now and then does not help
                time.sleep(0.2)
                slow.sendall(b"x")
                kept.sendall(b"x")
        assert [is_closed_within(one, 10) for one in (silent, slow, kept)] == [True] * 3
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_a_long_answer_is_not_cut_off_by_the_time_for_headers(served) -> None:
    with served(pause=1.5, header_timeout_s=0.5) as address, httpx.Client(timeout=60) as client:
        for _ in range(2):
            answer = client.get(f"{address}/v1/search", params={"q": "red"})
            assert answer.status_code == 200 and answer.json()["hits"]


def test_the_oldest_idle_connection_makes_way_and_nobody_who_is_answered(served, connected) -> None:
    with served(pause=1.0, max_connections=10, header_timeout_s=60) as address:
        answers: list[int] = []
        asking = threading.Thread(
            target=lambda: answers.append(httpx.get(f"{address}/v1/search?q=red", timeout=60).status_code)
        )
        asking.start()
        time.sleep(0.4)
        halves = [connected(address, HALF) for _ in range(25)]
        assert httpx.get(f"{address}/healthz", timeout=20).status_code == 200
        assert is_closed_within(halves[0], 10) and is_closed_within(halves[5], 10)
        assert not is_closed_within(halves[-1], 0.2)
        asking.join()
        assert answers == [200]


def test_half_sent_bodies_make_way_too(served, connected) -> None:
    with served(max_connections=10, header_timeout_s=60, body_timeout_s=60) as address:
        begun = [connected(address, BODY + b'{"parts"') for _ in range(25)]
        assert httpx.get(f"{address}/healthz", timeout=20).status_code == 200
        assert is_closed_within(begun[0], 10) and not is_closed_within(begun[-1], 0.2)


def test_answers_have_to_be_read(tmp_path, monkeypatch, connected) -> None:
    large = b"x" * 30_000_000

    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"30000000")]})
        await send({"type": "http.response.body", "body": large})

    given = ServingSettings(header_timeout_s=1.0)
    monkeypatch.setenv(SETTINGS, given.to_environment()[SETTINGS])
    with running(answer, given, lifespan="off") as address:
        asked = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        lazy = [connected(address, asked) for _ in range(3)]
        assert is_closed_within(lazy[0], 20), "the oldest makes way when too much is unread"
        stalled = connected(address, asked)
        time.sleep(3)
        kept = httpx.get(address, timeout=20)
        assert len(kept.content) == len(large)
        read = 0
        with suppress(OSError):
            while part := stalled.recv(65_536):
                read += len(part)
        assert read < len(large), "what was not read for a while is thrown away"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 200 + b"\r\n", b"431"),
        (b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
         b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
         b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
    ],
    ids=["many headers", "two lengths"],
)  # fmt: skip
def test_a_request_that_is_two_or_too_many_headers_closes_the_connection(served, connected, data, status) -> None:
    with served() as address:
        opened = connected(address, data)
        heard = b""
        with suppress(OSError):
            while part := opened.recv(65_536):
                heard += part
        assert heard.startswith(b"HTTP/1.1 " + status) and heard.count(b"HTTP/1.1") == 1


CHUNKED = BODY.replace(b"Content-Length: 100", b"Transfer-Encoding: chunked")
QUERY = b'{"parts": [{"kind": "text", "text": "red"}]}'


def in_chunks(data: bytes, size: int) -> bytes:
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def status_of(opened: socket.socket, data: bytes) -> bytes:
    """The first line of the answer to what is sent, "" where the connection is closed without one."""
    with suppress(ConnectionError):
        opened.sendall(data)
    try:
        return opened.recv(4096).partition(b"\r\n")[0]
    except ConnectionError:
        return b""


@pytest.mark.parametrize(
    ("data", "statuses"),
    [
        (CHUNKED + in_chunks(QUERY + b" " * 400_000, 1), (b"HTTP/1.1 400 Bad Request", b"")),
        (CHUNKED + (b"1;a=" + b"b" * 9_000 + b"\r\n \r\n") * 30, (b"HTTP/1.1 400 Bad Request", b"")),
        (
            CHUNKED.replace(b"/v1/search", b"/healthz") + in_chunks(b" " * 100_000, 1),
            (b"HTTP/1.1 405 Method Not Allowed", b"HTTP/1.1 400 Bad Request", b""),
        ),
        (CHUNKED + in_chunks(QUERY, 1), (b"HTTP/1.1 200 OK",)),
        (CHUNKED + in_chunks(QUERY + b" " * 400_000, 20), (b"HTTP/1.1 200 OK",)),
        (CHUNKED + in_chunks(QUERY + b" " * 400_000, 100_000), (b"HTTP/1.1 200 OK",)),
    ],
    ids=["bytes", "extensions", "after the answer", "short", "lines", "blocks"],
)
def test_chunks_have_to_hold_more_content_than_lengths(served, connected, data, statuses) -> None:
    with served() as address:
        opened = connected(address)
        assert status_of(opened, data) in statuses
        if statuses[0] != b"HTTP/1.1 200 OK":
            assert is_closed_within(opened, 5)
        assert httpx.get(f"{address}/healthz").status_code == 200


@pytest.mark.parametrize("pause", [0.0, 0.3], ids=["at once", "after the answer"])
@pytest.mark.parametrize("method", [b"POST /healthz", b"PUT /v1/items/x", b"POST /v1/search"])
def test_what_clients_send_makes_no_log_longer(served, connected, caplog, method, pause) -> None:
    with served(write_key="w") as address:
        opened = connected(address, CHUNKED.replace(b"POST /v1/search", method))
        time.sleep(pause)
        with suppress(ConnectionError):
            opened.sendall(b"no length\r\n")
        assert is_closed_within(opened, 5)
        assert httpx.get(f"{address}/healthz").status_code == 200
    assert not caplog.records, caplog.text


def test_a_body_that_nobody_reads_is_taken_in_when_its_length_was_stated(served) -> None:
    with served() as address:
        connection = http.client.HTTPConnection("127.0.0.1", port_of(address), timeout=20)
        for method, body, status in (("POST", bytes(3_000_000), 405), ("GET", None, 200)):
            connection.request(method, "/healthz", body)
            answer = connection.getresponse()
            assert (answer.status, bool(answer.read())) == (status, True)
        connection.close()


@pytest.mark.parametrize(("trusted", "statuses"), [(None, {429}), ("127.0.0.1", {401})])
def test_rotating_forwarded_addresses_escape_only_where_the_proxy_is_trusted(served, trusted, statuses) -> None:
    with served(read_key="r", trust_proxy=trusted) as address, httpx.Client() as client:
        answers = [
            client.get(f"{address}/v1/info", headers=bearer("no") | {"X-Forwarded-For": f"203.0.113.{number}"})
            for number in range(14)
        ]
    assert {answer.status_code for answer in answers[10:]} == statuses


@pytest.mark.slow
def test_few_descriptors_and_many_half_sent_headers(tmp_path, connected) -> None:
    """1,500 connections at `ulimit -n 256`: others are answered, the log stays empty, and the process rests."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    log = tmp_path / "log"
    try:
        with (
            log.open("wb") as out,
            process(tmp_path, ServingSettings(header_timeout_s=5), log=out, descriptors=256) as (running, address),
        ):
            for _ in range(1_500):
                with suppress(OSError):
                    connected(address, HALF)
            watched = psutil.Process(running.pid)
            watched.cpu_percent()
            for _ in range(5):
                assert httpx.get(f"{address}/healthz", timeout=30).status_code == 200
            time.sleep(8)
            assert watched.cpu_percent() < 60
            assert watched.num_fds() < 150
            assert httpx.get(f"{address}/v1/search", params={"q": "red"}, timeout=30).status_code == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert log.stat().st_size < 10_000, log.read_text()[:2000]


def test_forwarding_headers_are_believed_only_of_named_proxies() -> None:
    assert server_options(ServingSettings())["proxy_headers"] is False
    trusting = server_options(ServingSettings(trust_proxy="127.0.0.1"))
    assert (trusting["proxy_headers"], trusting["forwarded_allow_ips"]) == (True, "127.0.0.1")


def test_folders_of_figures_are_swept_up(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    names = [f"diptych-metrics-{gone.pid}-abc", "diptych-metrics-1-abc", "diptych-metrics-old", "other"]
    for name in names:
        (tmp_path / name).mkdir()
    with _figures_together(1):
        there = {path.name for path in tmp_path.iterdir()}
        assert there == {"diptych-metrics-1-abc", "diptych-metrics-old", "other"}  # of one that lives, and a young one
    with monkeypatch.context() as patch:
        patch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
        with _figures_together(2):
            assert len(list(tmp_path.iterdir())) == 4
    assert {path.name for path in tmp_path.iterdir()} == there


def test_answers_are_sent_at_once_whatever_socket_listens(tmp_path, monkeypatch) -> None:
    """The socket that workers share does not say it is TCP, and then every answer would wait 40 ms."""
    made = LimitedProtocol.connection_made
    told: list[tuple[int, int]] = []

    def look(protocol: LimitedProtocol, transport) -> None:
        made(protocol, transport)
        opened = transport.get_extra_info("socket")
        told.append((opened.proto, opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))

    monkeypatch.setattr(LimitedProtocol, "connection_made", look)
    with running(create_app(fake_searcher.filled(tmp_path))) as address:
        assert httpx.get(f"{address}/page/words.js").status_code == 200
        assert httpx.get(f"{address}/page/nothing.js").json()["error"]["code"] == "not_found"
        assert httpx.head(f"{address}/").status_code == 200
    assert told and {proto for proto, _ in told} == {0} and all(at_once for _, at_once in told)
