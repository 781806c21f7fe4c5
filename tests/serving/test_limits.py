"""What the server takes in is bounded: bodies, values, metadata, ids, wrong keys, names it answers to."""

import asyncio
import base64
import concurrent.futures
import io
import json
import threading
import time

import httpx
import pytest
from PIL import Image

from diptych.serving import ServingSettings, create_app
from diptych.serving.security import Buckets, client_of
from serving import fake_searcher
from serving.asgi_client import bearer
from serving.coloured_shapes import Shape, image
from serving.running_server import running

RED = image(Shape("red", "circle", "train"))
RED_PIXELS = Image.open(io.BytesIO(RED)).width ** 2


@pytest.fixture
def writer(serve):
    return serve(write_key="w", headers=bearer("w"))


def code(response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"items": [{"id": "x", "text": "red", "metadata": {"a": [' + b"1," * 2_000_000 + b"1]}}]}",
        b'{"items": [{"id": "x", "text": "red", "metadata": {"a": [' + b"{}," * 1_300_000 + b"1]}}]}",
    ],
    ids=["numbers", "objects"],
)
def test_json_with_millions_of_values_holds_nobody_up(tmp_path, body) -> None:
    settings = ServingSettings(write_key="w")
    with running(create_app(fake_searcher.filled(tmp_path), settings)) as address:
        headers = bearer("w") | {"content-type": "application/json"}
        answers = []
        sending = threading.Thread(
            target=lambda: answers.append(httpx.post(f"{address}/v1/items", content=body, headers=headers, timeout=120))
        )
        httpx.get(f"{address}/healthz")
        longest = 0.0
        sending.start()
        while sending.is_alive():
            started = time.perf_counter()
            assert httpx.get(f"{address}/healthz", timeout=60).status_code == 200
            longest = max(longest, time.perf_counter() - started)
    assert code(answers[0]) == (413, "too_large")
    assert "values" in answers[0].json()["error"]["message"]
    assert longest < 1.5, longest


def test_json_has_a_limit_of_its_own_and_says_what_to_do(serve) -> None:
    client = serve(max_json_bytes=100_000)
    data = base64.b64encode(RED + bytes(90_000)).decode()
    large = client("POST", "/v1/search", json={"parts": [{"kind": "image", "data": data}]})
    assert code(large) == (413, "too_large")
    assert "send large images as a form" in large.json()["error"]["message"]
    form = client("POST", "/v1/search", files={"image": ("x.png", RED + bytes(90_000))})
    assert form.status_code == 200


def test_a_field_of_a_form_is_no_way_around_the_limits(serve) -> None:
    client = serve(max_json_bytes=100_000)
    files = {"image": ("x.png", RED)}
    long = client("POST", "/v1/search", files=files, data={"query": " " * 200_000 + "{}"})
    assert long.status_code in (400, 413)
    many = serve()("POST", "/v1/search", files=files, data={"query": "[" + "1," * 250_000 + "1]"})
    assert code(many) == (413, "too_large")


def test_bodies_that_are_held_together_have_a_limit_and_small_ones_pass(serve, searcher) -> None:
    searcher.pause = 0.5
    client = serve(max_upload_bytes=400_000, max_uploads_bytes=1_000_000)
    large = {"files": {"image": ("x.png", RED + bytes(350_000))}}
    small = {"json": {"parts": [{"kind": "text", "text": "red"}]}}
    asked = [("POST", "/v1/search", large)] * 6 + [("POST", "/v1/search", small)] * 6
    answers = client.together(*asked)
    statuses = [answer.status_code for answer in answers[:6]]
    assert 200 in statuses and 503 in statuses and set(statuses) == {200, 503}
    assert statuses.count(200) <= 3
    refused = answers[statuses.index(503)]
    assert code(refused) == (503, "busy") and refused.headers["retry-after"] == "1"
    assert [answer.status_code for answer in answers[6:]] == [200] * 6
    assert client("POST", "/v1/search", **large).status_code == 200  # what was held has been given back


def test_what_was_held_is_given_back_when_a_client_goes_away(serve) -> None:
    client = serve(max_upload_bytes=400_000, max_uploads_bytes=600_000, body_timeout_s=0.2)

    async def half():
        yield b"--x\r\n" + bytes(300_000)
        await asyncio.sleep(1)

    headers = {"content-type": "multipart/form-data; boundary=x"}
    for _ in range(4):
        assert client("POST", "/v1/search", content=half(), headers=headers).status_code in (400, 408)
    assert client("POST", "/v1/search", files={"image": ("x.png", RED + bytes(350_000))}).status_code == 200


@pytest.mark.parametrize("id", ["a\nb", "a\rb", "a\r\nb", "\0", "a\x7f", "a\u2028b", "a\x85"])
def test_an_id_that_no_address_can_hold_is_refused(writer, searcher, id) -> None:
    added = writer("POST", "/v1/items", json={"items": [{"id": id, "text": "red"}]})
    assert code(added) == (422, "invalid")
    assert "control character" in added.json()["error"]["message"]
    form = {"item": json.dumps({"id": id})}
    assert writer("POST", "/v1/items", files={"image": ("x", RED)}, data=form).status_code == 422
    assert searcher.get(id) is None


@pytest.mark.parametrize("id", [".", ".."])
def test_an_id_that_clients_take_for_a_way_is_refused(writer, searcher, id) -> None:
    added = writer("POST", "/v1/items", json={"items": [{"id": id, "text": "red"}]})
    assert code(added) == (422, "invalid") and "no address can hold" in added.json()["error"]["message"]
    assert searcher.get(id) is None


def test_an_address_of_thousands_of_parameters_is_not_read(client) -> None:
    many = "&".join(f"a{number}=" for number in range(9_000))
    assert code(client("GET", f"/v1/search?q=red&{many}")) == (414, "too_large")
    assert code(client("GET", f"/v1/search?q=red&{'&'.join(many.split('&')[:298])}")) == (422, "invalid")


def test_of_a_hundred_thousand_mistakes_the_number_is_told(client) -> None:
    body = json.dumps({"parts": [{"kind": "text", "text": "red"}]} | {f"k{number}": 1 for number in range(90_000)})
    answer = client("POST", "/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert code(answer) == (422, "invalid") and answer.json()["error"]["message"] == "body: 90,000 values are wrong."


def test_an_id_with_a_carriage_return_cannot_be_put_either(writer) -> None:
    response = writer("PUT", "/v1/items/a%0Db", json={"text": "red"})
    assert code(response) == (422, "invalid")


@pytest.mark.parametrize("id", ["a b", "ä/ö?#%", "日本", "🙂", "..a", "a'b\"c"])
def test_ids_that_can_be_added_can_be_fetched(writer, id) -> None:
    assert writer("POST", "/v1/items", json={"items": [{"id": id, "text": "red"}]}).status_code == 201
    quoted = "".join(f"%{byte:02X}" for byte in id.encode())
    assert writer("GET", f"/v1/items/{quoted}").json()["id"] == id


def test_metadata_has_a_limit(serve) -> None:
    client = serve(write_key="w", headers=bearer("w"), max_metadata_bytes=1_000)
    fits = {"note": "n" * 900}
    assert client("PUT", "/v1/items/x", json={"text": "red", "metadata": fits}).status_code == 200
    too_much = {"note": "n" * 1_000}
    asked = [
        ("PUT", "/v1/items/y", {"json": {"text": "red", "metadata": too_much}}),
        ("POST", "/v1/items", {"json": {"items": [{"id": "y", "text": "red", "metadata": too_much}]}}),
        (
            "PUT",
            "/v1/items/y",
            {"files": {"image": ("x", RED)}, "data": {"item": json.dumps({"metadata": too_much})}},
        ),
    ]
    for method, address, options in asked:
        response = client(method, address, **options)
        assert code(response) == (422, "invalid")
        assert "1,011 bytes as JSON; at most 1,000" in response.json()["error"]["message"]
    assert client("GET", "/v1/items/y").status_code == 404


@pytest.mark.parametrize(
    "address", ["/metrics", "/v1/media/image:red-circle-train", "/v1/search?q=red", "/v1/suggest?q=r"]
)
def test_guesses_are_limited_on_every_route_without_any_rate(serve, address) -> None:
    client = serve(read_key="right")
    answers = [client("GET", address, headers=bearer(f"guess {number}")) for number in range(30)]
    assert [answer.status_code for answer in answers] == [401] * 10 + [429] * 20
    assert code(answers[-1]) == (429, "too_many_requests")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 6
    assert client("GET", address, headers=bearer("right")).status_code == 429  # else guessing would go on


def test_guesses_on_one_route_count_on_all_and_others_are_not_locked_out(serve) -> None:
    client = serve(write_key="right")
    for number in range(10):
        assert client("DELETE", "/v1/items/x", headers=bearer(f"guess {number}")).status_code == 401
    assert client("GET", "/metrics", headers=bearer("guess")).status_code == 429
    assert client("GET", "/v1/search?q=red").status_code == 200  # whoever needs no key is not concerned
    other = type(client)(client.app, bearer("right"), "192.0.2.9")
    try:
        assert other("GET", "/v1/info").status_code == 200
    finally:
        other.close()


def test_the_right_key_is_never_counted(serve) -> None:
    client = serve(read_key="right", headers=bearer("right"))
    assert {client("GET", "/v1/info").status_code for _ in range(40)} == {200}


def test_a_claimed_forwarding_does_not_escape_the_count(serve) -> None:
    client = serve(read_key="right", rate_per_second=1)
    forwarded = [
        client("GET", "/v1/info", headers=bearer("guess") | {"X-Forwarded-For": f"10.0.0.{number}"}).status_code
        for number in range(20)
    ]
    assert forwarded.count(401) <= 10 and forwarded[-1] == 429


def test_metrics_count_against_the_rate(serve) -> None:
    client = serve(rate_per_second=1)
    assert [client("GET", "/metrics").status_code for _ in range(8)][-1] == 429


def test_a_full_bucket_is_only_looked_at() -> None:
    now = 0.0
    buckets = Buckets(0.5, 3, clock=lambda: now)
    assert buckets.wait("a") == 0.0 and len(buckets) == 0
    assert [buckets.take("a") for _ in range(3)] == [0.0] * 3
    assert buckets.wait("a") == pytest.approx(2.0) == buckets.wait("a")
    now = 2.0
    assert buckets.wait("a") == 0.0


def test_who_owns_a_network_is_one_client() -> None:
    assert client_of(("2001:db8:1:2::1", 1)) == client_of(("2001:db8:1:2:ffff::9", 2))
    assert client_of(("2001:db8:1:2::1", 1)) != client_of(("2001:db8:1:3::1", 1))
    assert client_of(None) == "unknown" and client_of(("no address", 1)) == "no address"


GOOD_HOSTS = [
    "localhost",
    "localhost:8000",
    "127.0.0.1:8000",
    "[::1]:8000",
    "192.168.1.5",
    "me.localhost",
    "LOCALHOST.",
]
BAD_HOSTS = ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "@localhost"]


def asked_as(client, host: str) -> int:
    return client("GET", "/v1/info", headers={"Host": host}).status_code


def test_a_server_without_a_key_answers_to_no_strange_name(client) -> None:
    assert {host: asked_as(client, host) for host in GOOD_HOSTS} == dict.fromkeys(GOOD_HOSTS, 200)
    assert {host: asked_as(client, host) for host in BAD_HOSTS} == dict.fromkeys(BAD_HOSTS, 421)
    refused = client("GET", "/", headers={"Host": "evil.example"})
    assert code(refused) == (421, "wrong_host") and "--allow-host" in refused.json()["error"]["message"]


def test_names_can_be_allowed_and_a_key_makes_names_unimportant(serve) -> None:
    named = serve(allow_hosts=("Photos.Example",))
    assert asked_as(named, "photos.example:8000") == 200 and asked_as(named, "evil.example") == 421
    assert asked_as(serve(allow_hosts=("*",)), "evil.example") == 200
    assert asked_as(serve(read_key="r"), "evil.example") == 401  # the key is what keeps strangers out
    assert asked_as(serve(write_key="w"), "evil.example") == 421  # reading is free, so the name matters


def test_an_app_started_without_hosts_checks_settings(tmp_path) -> None:
    settings = ServingSettings(allow_hosts=("a", "b"), trust_proxy="10.0.0.1")
    assert ServingSettings.from_environment(settings.to_environment()) == settings


def test_a_laborious_condition_holds_up_only_those_like_it(client, searcher) -> None:
    go_on, entered = threading.Event(), threading.Event()
    answer_many, listed = searcher.answer_many, searcher.list

    def held(asks_where: bool) -> None:
        if asks_where:
            entered.set()
            go_on.wait(30)

    def answering(queries):
        held(any(query.where for query in queries))
        return answer_many(queries)

    def listing(**asked):
        held(asked.get("where") is not None)
        return listed(**asked)

    searcher.answer_many, searcher.list = answering, listing
    slow = ["/v1/search?q=red&where=split='train'", *["/v1/items?where=split='train'"] * 8]
    waiting = [client.start("GET", address) for address in slow]
    assert entered.wait(10)
    for address in ("/v1/search?q=red", "/v1/suggest?q=r", "/v1/items", "/v1/items/image:red-circle-train", "/readyz"):
        assert client("GET", address).status_code == 200, address
    assert not any(one.done() for one in waiting)
    go_on.set()
    assert {one.result(30).status_code for one in waiting} == {200}


def test_a_long_text_does_not_hold_up_those_who_type(client, searcher) -> None:
    go_on, entered = threading.Event(), threading.Event()
    answer_many = searcher.answer_many

    def answering(queries):
        if any(len(query.parts) == 2 for query in queries):
            entered.set()
            go_on.wait(30)
        return answer_many(queries)

    searcher.answer_many = answering
    long = {"parts": [{"kind": "text", "text": "red " * 150}] * 2}
    waiting = client.start("POST", "/v1/search", json=long)
    assert entered.wait(10)
    assert client("GET", "/v1/search?q=red").status_code == 200 and not waiting.done()
    go_on.set()
    assert waiting.result(30).status_code == 200


def test_lists_that_nobody_waits_for_any_more_do_not_pile_up(client, searcher) -> None:
    go_on, listed, begun = threading.Event(), searcher.list, []

    def listing(**asked):
        begun.append(asked)
        go_on.wait(30)
        return listed(**asked)

    searcher.list = listing
    waiting = [client.start("GET", "/v1/items?where=split='train'") for _ in range(100)]
    refused = [one for one in concurrent.futures.wait(waiting, 10, "FIRST_COMPLETED").done]
    assert {one.result().status_code for one in refused} == {503}
    go_on.set()
    assert sorted({one.result(30).status_code for one in waiting}) == [200, 503] and len(begun) == 64
    assert client("GET", "/v1/items?where=split='train'").status_code == 200


def test_the_files_of_a_request_decode_to_a_limit_together(serve) -> None:
    client = serve(max_pixels=RED_PIXELS)
    for count, status in ((4, 200), (5, 413)):
        files = [("image", (str(number), RED)) for number in range(count)]
        assert client("POST", "/v1/search", files=files).status_code == status
