"""A backend that is away is not the client's fault: 503 with Retry-After, within seconds, and readiness says why."""

import threading
import time

import pytest

from diptych._core.errors import BackendUnavailableError, TimeLimitError
from diptych.serving import service
from serving.asgi_client import bearer

AWAY = BackendUnavailableError("the database does not answer; try again later.")
ITEM = {"items": [{"id": "x", "text": "red"}]}


def raising(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.fixture
def away(searcher):
    for name in ("suggest", "get", "list", "add", "remove", "info", "thumbnail", "original", "projection"):
        setattr(searcher, name, raising(AWAY))
    searcher.answer_many = lambda queries: [AWAY] * len(queries)
    return searcher


@pytest.mark.parametrize(
    ("method", "address", "body"),
    [
        ("GET", "/v1/search?q=red", None),
        ("POST", "/v1/search", {"parts": [{"kind": "text", "text": "red"}]}),
        ("GET", "/v1/similar/image:x", None),
        ("GET", "/v1/suggest?q=r", None),
        ("GET", "/v1/items", None),
        ("GET", "/v1/items/x", None),
        ("POST", "/v1/items", ITEM),
        ("PUT", "/v1/items/x", {"text": "red"}),
        ("DELETE", "/v1/items/x", None),
        ("GET", "/v1/media/x", None),
        ("GET", "/v1/info", None),
        ("GET", "/v1/projection", None),
    ],
)
def test_every_address_says_come_back(away, serve, method, address, body) -> None:
    client = serve(bearer("w"), write_key="w")
    found = client(method, address, **({} if body is None else {"json": body}))
    assert (found.status_code, found.json()["error"]["code"]) == (503, "unavailable")
    assert int(found.headers["retry-after"]) >= 1


def test_a_query_that_takes_too_long_is_told(searcher, client) -> None:
    searcher.answer_many = lambda queries: [TimeLimitError("the query took longer than allowed.")] * len(queries)
    found = client("GET", "/v1/search?q=red")
    assert (found.status_code, found.json()["error"]["code"]) == (503, "too_slow")
    assert "retry-after" in found.headers


def test_readiness_says_why(away, client) -> None:
    found = client("GET", "/readyz")
    assert found.status_code == 503 and found.headers["retry-after"]
    assert found.json()["error"] == {"code": "not_ready", "message": "the database does not answer; try again later."}
    assert client("GET", "/healthz").status_code == 200
    away.list = raising(RuntimeError("secret of /home/ann"))
    assert "secret" not in client("GET", "/readyz").text


def test_readiness_does_not_wait_for_a_backend_that_hangs(searcher, client, monkeypatch) -> None:
    monkeypatch.setattr(service, "_READY_S", 0.2)
    go_on, listed, calls = threading.Event(), searcher.list, []

    def hanging(**asked):
        calls.append(asked)
        go_on.wait(20)
        return listed(**asked)

    searcher.list = hanging
    started = time.monotonic()
    for _ in range(6):
        found = client("GET", "/readyz")
        assert found.status_code == 503 and "within 0.2 s" in found.json()["error"]["message"]
    assert time.monotonic() - started < 5 and len(calls) == 1, "one look, however many ask"
    assert client("GET", "/v1/search?q=red").status_code == 200, "and no thread of others is held"
    go_on.set()
    searcher.list = listed
    for _ in range(50):
        if client("GET", "/readyz").status_code == 200:
            break
        time.sleep(0.05)
    assert client("GET", "/readyz").status_code == 200


def test_what_is_kept_of_an_index_goes_when_another_takes_its_place(searcher, client) -> None:
    first = client("GET", "/v1/projection").json()["total"]
    shown, points = searcher.projection, searcher.projection()
    searcher.projection = lambda: points[:3]
    assert client("GET", "/v1/projection").json()["total"] == first
    searcher.generation = 1
    assert client("GET", "/v1/projection").json()["total"] == 3
    searcher.projection = shown


@pytest.mark.parametrize("address", ["/v1/search?q=red", "/v1/items"])
def test_one_finds_out_for_all_who_wait_that_the_backend_is_away(searcher, client, address) -> None:
    calls, release = [], threading.Event()

    def slow(*given, **_):
        calls.append(given)
        release.wait(20)
        raise AWAY

    searcher.answer_many = searcher.list = slow
    waiting = [client.start("GET", address) for _ in range(8)]
    end = time.monotonic() + 20
    while len(calls) < (1 if "search" in address else 4) and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.2)
    release.set()
    assert {future.result(20).status_code for future in waiting} == {503}
    assert len(calls) <= 4, "those in line did not wait a second time"
    assert client("GET", address).status_code == 503 and len(calls) <= 5, "who comes later asks again"
