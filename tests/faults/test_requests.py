"""Requests nobody should send: each is refused in a sentence, quickly, and nobody else waits for it."""

import base64
import json
import time

import httpx
import pytest

from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from diptych.search import build_index
from faults.clients import MANY, Load, laborious_load, leave, raw_answer, searching
from faults.programs import serving
from search.gallery import png, write_raw

KEY = {"Authorization": "Bearer w"}
SECONDS = 12


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """An index of two thousand entries."""
    folder = tmp_path_factory.mktemp("large")
    options = IngestOptions(
        write_raw(folder / "raw", per_colour=250),
        folder / "dataset",
        features={"image": "colour-moments", "text": "bow:30"},
        name="fields",
    )
    dataset = ingest(options).dataset
    save_model(create("cca", components=4).fit(dataset), folder / "model")
    build_index(folder / "model", dataset, folder / "index")
    return folder / "index"


@pytest.mark.faults(
    "`in (…)` with 4,900 values and `like '%a%a…'` from 8 clients for 12 s",
    "p99 of a simple text search stays below 10 × its value without load; the server stops within 5 s of SIGTERM",
)
def test_laborious_conditions(large, tmp_path, noted):
    with serving(large, tmp_path / "log", "--query-timeout", 5) as server:
        with Load(server.address, [searching()] * 2, pause_s=0.01) as quiet:
            time.sleep(SECONDS)
        with laborious_load(server.address, SECONDS) as count:
            with Load(server.address, [searching()] * 2, pause_s=0.01) as others:
                time.sleep(SECONDS - 1)
                ready_s = server.wait_for("/readyz")
            attacks = count()
        stopped_s = server.stop()
    before, under = quiet.percentile_ms(99), others.percentile_ms(99)
    found = f"p99 {before:.0f} ms without load, {under:.0f} ms under attack ({under / before:.1f} ×)"
    noted(sum(attacks.values()), f"{found}; stopped in {stopped_s:.1f} s")
    assert set(others.statuses) == {200} and set(attacks) <= {"200", "422", "503"}, (others.statuses, attacks)
    assert under < 10 * before and ready_s < 3 and stopped_s < 5


def nested(depth):
    return "[" * depth + "]" * depth


def hostile():
    """Requests by name: the method, the address, what is sent with it, and the statuses that are right."""
    text = [{"kind": "text", "text": "red"}]
    item = {"items": [{"id": "x", "text": "red", "metadata": {}}]}
    image = base64.b64encode(png("red", "x")).decode()

    def search(**more):
        return "POST", "/v1/search", {"json": {"parts": text, **more}}, {422}

    def add(**more):
        return "POST", "/v1/items", {"json": {"items": [item["items"][0] | more]}, "headers": KEY}, {422}

    yield "a condition of 30,000 characters", search(where="a = 1 or " * 3_000 + "a = 1")
    yield "a condition of 9,000 values", search(where=f"a in ({','.join(['1'] * 9_000)})")
    yield "a condition of 10,000 parentheses", search(where="(" * 9_000 + "a = 1" + ")" * 9_000)
    yield "a condition of 5,000 negations", search(where="not " * 4_000 + "a = 1")
    yield "a condition that is SQL", search(where="a = 1; DROP TABLE items")
    yield "a condition with a zero byte", search(where="a = '\0'")
    yield "a billion results", search(k=10**9)
    yield "a result far away", search(offset=10**15)
    yield "no number of results", search(k="NaN")
    yield "a weight without end", search(parts=[{"kind": "text", "text": "red", "weight": 1e308}])
    yield "a thousand parts", search(parts=text * 1_000)
    yield "a text of a megabyte", search(parts=[{"kind": "text", "text": "red " * 250_000}])
    yield "an unknown field", search(surprise=1)
    yield "26 MB of JSON", ("POST", "/v1/search", {"content": b'{"parts": [' + b"1," * 13_000_000 + b"1]}"}, {413})
    yield (
        "7 MB of small values",
        ("POST", "/v1/search", {"content": b'{"parts": [' + b"[],%s" % (b"[]," * 2_300_000) + b"1]}"}, {413}),
    )
    yield "deep JSON", ("POST", "/v1/search", {"content": b'{"parts": ' + nested(500_000).encode() + b"}"}, {413, 422})
    yield "no JSON", ("POST", "/v1/search", {"content": b"\xff\xfe\x00"}, {422})
    yield "XML", ("POST", "/v1/search", {"content": b"<a/>", "headers": {"Content-Type": "text/xml"}}, {415})
    yield (
        "a form without end",
        (
            "POST",
            "/v1/search",
            {"files": [("image", (str(n), b"x")) for n in range(3_000)]},
            {400, 413, 422},
        ),
    )
    yield "an id of two lines", add(id="a\r\nSet-Cookie: b=c")
    yield "an id of zero bytes", add(id="a\0b")
    yield "an id of 10,000 characters", add(id="a" * 10_000)
    yield "a megabyte of metadata", add(metadata={"a": "b" * 2**20})
    yield (
        "metadata 1,000 deep",
        (
            "POST",
            "/v1/items",
            {
                "content": b'{"items":[{"id":"x","text":"red","metadata":{"a":%s}}]}' % nested(1_000).encode(),
                "headers": KEY,
            },
            {413, 422},
        ),
    )
    yield "an image that is none", add(text=None, data=base64.b64encode(b"GIF89a" + b"\0" * 50).decode())
    yield "text and image at once", add(data=image)
    yield "a strange host", ("GET", "/v1/search?q=red", {"headers": {"Host": "evil.example"}}, {421})
    yield "a strange host on the page", ("GET", "/", {"headers": {"Host": "evil.example:80"}}, {421})
    for path in (
        "/v1/media/../../../../etc/passwd",
        "/page/..%2f..%2f..%2fapp.py",
        "/page/%2e%2e/index.sqlite",
        "/%00",
    ):
        yield f"the path {path}", ("GET", path, {}, {404, 422})
    yield "a write without a key", ("DELETE", "/v1/items/image:red-00", {}, {401})
    yield "a backup without a folder", ("POST", "/v1/snapshots", {"headers": KEY}, {403})
    yield "a verb that is none", ("BREW", "/v1/search", {}, {405})
    yield "an address of 60,000 characters", ("GET", "/v1/search?q=" + "a" * 60_000, {}, {400, 414, 422})
    yield (
        "an answer that is compressed without end",
        (
            "POST",
            "/v1/search",
            {"content": b"\x1f\x8b" + b"\0" * 1_000, "headers": {"Content-Encoding": "gzip"}},
            {415, 422},
        ),
    )
    yield "9,000 parameters", ("GET", "/v1/search?q=red&" + "&".join(f"a{n}=" for n in range(9_000)), {}, {414})
    unknown = ",".join(f'"k{n}":1' for n in range(90_000))
    yield "90,000 unknown fields", ("POST", "/v1/search", {"content": f'{{"parts":[],{unknown}}}'.encode()}, {422})
    values = b'{"items": [' + b"[]," * 2_600_000 + b"1]}"
    as_json = {"Content-Type": "application/json"}
    yield "labels of 8 MB without a key", ("PUT", "/v1/labels", {"content": values, "headers": as_json}, {401})
    yield "labels of 8 MB", ("PUT", "/v1/labels", {"content": values, "headers": as_json | KEY}, {413})
    yield "an id that is a way", add(id="..")
    for charset in ("punycode", "idna", "undefined"):
        form = b'--x\r\nContent-Disposition: form-data; name="query"\r\n\r\n{"a": "\xff"}\r\n--x--\r\n'
        headers = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
        yield f"a form in {charset}", ("POST", "/v1/search", {"content": form, "headers": headers}, {422})


POST = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
RAW = {
    "two lengths": POST + b"Content-Length: 5\r\nContent-Length: 50\r\n\r\nhello",
    "a length and chunks": POST
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
    "HTTP/9": b"GET / HTTP/9.9\r\n\r\n",
    "a header of a megabyte": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 2**20 + b"\r\n\r\n",
    "20,000 headers": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 20_000 + b"\r\n",
    "a million chunks of a byte": POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 1_000_000,
    "a chunk without a length": POST.replace(b"/v1/search", b"/healthz") + b"Transfer-Encoding: chunked\r\n\r\nz\r\n",
    "a line feed in a header": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\nY: b\r\n\r\n",
}


@pytest.mark.faults(
    "hostile requests, one after another", "a 4xx status with a sentence within 2 s; the server keeps running"
)
def test_hostile_requests(world, tmp_path, noted):
    wrong, slowest, sent = [], 0.0, 0
    with (
        serving(world / "index", tmp_path / "log", DIPTYCH_WRITE_KEY="w") as server,
        Load(server.address, [searching()], pause_s=0.02) as others,
        httpx.Client(base_url=server.address, timeout=60) as client,
    ):
        for name, (method, address, more, right) in hostile():
            started = time.monotonic()
            answer = client.request(method, address, **more)
            slowest, sent = max(slowest, time.monotonic() - started), sent + 1
            told = answer.headers.get("content-type", "").startswith("application/json") and answer.json()["error"]
            if answer.status_code not in right or (method != "HEAD" and not told):
                wrong.append((name, answer.status_code, answer.text[:200]))
        for name, data in RAW.items():
            started = time.monotonic()
            line = raw_answer(server.port, data)
            slowest, sent = max(slowest, time.monotonic() - started), sent + 1
            if " 5" in line[:12] or line == "TimeoutError":
                wrong.append((name, line))
        assert client.get("/readyz").status_code == 200
        server_log = server.log.read_text()
    noted(sent, f"all refused, the slowest in {slowest:.1f} s; the slowest other search {max(others.waits):.1f} s")
    assert not wrong, wrong
    assert set(others.statuses) == {200} and max(others.waits) < 2 and slowest < 5
    assert "Traceback" not in server_log, server_log[-2000:]


@pytest.mark.faults("guessed keys on six routes, with a new `X-Forwarded-For` each", "10 guesses are checked, then 429")
def test_key_guesses(world, tmp_path, noted):
    routes = ["/metrics", "/v1/media/image:red-00", "/v1/search?q=red", "/v1/items", "/v1/info", "/v1/snapshots"]
    statuses = []
    with (
        serving(world / "index", tmp_path / "log", DIPTYCH_READ_KEY="r", DIPTYCH_WRITE_KEY="w") as server,
        httpx.Client(base_url=server.address, timeout=60) as client,
    ):
        for number in range(600):
            headers = {"Authorization": f"Bearer {number}", "X-Forwarded-For": f"10.0.{number // 250}.{number % 250}"}
            statuses.append(client.get(routes[number % 6], headers=headers).status_code)
        without = client.get("/healthz").status_code
    tried = statuses.count(401)
    noted(len(statuses), f"{tried} guesses checked, {statuses.count(429)} refused unchecked")
    assert set(statuses) == {401, 429} and tried < 15 and without == 200


@pytest.mark.faults("a client of `--rate 5` with a new `X-Forwarded-For` each time", "5 requests per second pass")
def test_forwarded_addresses(world, tmp_path, noted):
    with (
        serving(world / "index", tmp_path / "log", "--rate", 5) as server,
        httpx.Client(base_url=server.address, timeout=60) as client,
    ):
        started, statuses = time.monotonic(), []
        while time.monotonic() - started < 4:
            headers = {"X-Forwarded-For": f"10.0.0.{len(statuses) % 250}", "X-Real-IP": "10.0.0.1"}
            statuses.append(client.get("/v1/search?q=red", headers=headers).status_code)
    passed = statuses.count(200)
    noted(len(statuses), f"{passed} passed in 4 s, the rest got 429")
    assert set(statuses) == {200, 429} and passed <= 5 * 5 + 5 * 5


@pytest.mark.faults("200 searches whose clients disconnect before the response", "other searches are not delayed")
def test_clients_that_leave(world, tmp_path, noted):
    body = json.dumps({"parts": [{"kind": "text", "text": "red"}], "where": f"a in ({MANY})"}).encode()
    head = POST + f"Content-Length: {len(body)}\r\n\r\n".encode()
    with serving(world / "index", tmp_path / "log") as server, Load(server.address, [searching()], 0.02) as others:
        for _ in range(200):
            leave(server.port, head + body)
        time.sleep(1)
        started = time.monotonic()
        httpx.get(f"{server.address}/v1/search", params={"q": "red"}, timeout=30)
        waited = time.monotonic() - started
    noted(200, f"the slowest other search took {max(others.waits):.2f} s")
    assert set(others.statuses) == {200} and waited < 2 and "Traceback" not in server.log.read_text()
