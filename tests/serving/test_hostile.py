"""What strangers send is limited, and what they are told gives nothing away."""

import asyncio
import base64
import struct
import zlib
from io import BytesIO

import pytest
from PIL import Image

from diptych._core.errors import DataError
from diptych.serving.errors import without_places
from diptych.serving.routes.items import SHOWN
from diptych.serving.security import Buckets
from serving.coloured_shapes import Shape, image

WORDS = {"parts": [{"kind": "text", "text": "red"}]}


def claims(width: int, height: int) -> bytes:
    """A small PNG whose header claims a large image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def upload(client, data: bytes):
    return client("POST", "/v1/search", files={"image": ("x.png", data)})


@pytest.mark.parametrize("size", [(60_000, 60_000), (8_000, 8_000), (2**31 - 1, 1), (0, 0)])
def test_an_image_that_claims_too_much_is_not_decoded(client, searcher, size) -> None:
    response = upload(client, claims(*size))
    assert response.status_code in (413, 422)
    assert response.json()["error"]["code"] in ("too_many_pixels", "not_an_image")
    assert searcher.batches == []


def test_the_pixel_limit_is_exact(serve) -> None:
    data = image(Shape("red", "circle", "train"), side=40)
    assert upload(serve(max_pixels=1600), data).status_code == 200
    assert upload(serve(max_pixels=1599), data).json()["error"]["code"] == "too_many_pixels"


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"<svg onload='alert(1)'/>", b"%PDF-1.4", b"\x89PNG\r\n\x1a\n" + bytes(50)]
)
def test_what_is_not_an_image_is_refused(client, data) -> None:
    response = upload(client, data)
    assert (response.status_code, response.json()["error"]["code"]) == (422, "not_an_image")


def test_damaged_images_are_refused_with_a_sentence(client) -> None:
    whole = image(Shape("red", "circle", "train"))
    response = upload(client, whole[: len(whole) // 2])
    assert response.status_code == 422
    assert response.json()["error"]["message"]


def test_an_image_with_too_many_bytes_is_refused(serve) -> None:
    out = BytesIO()
    Image.effect_noise((200, 200), 90).save(out, "PNG")
    assert len(out.getvalue()) > 10_000
    response = upload(serve(max_upload_bytes=10_000), out.getvalue())
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


def test_a_body_is_read_no_further_than_the_limit(serve) -> None:
    client = serve(max_upload_bytes=30_000)
    sent = 0

    async def endless():
        nonlocal sent
        for _ in range(1_000):
            sent += 10_000
            yield bytes(10_000)

    response = client("POST", "/v1/search", content=endless(), headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")
    assert sent <= 30_000 * 4 // 3 + 2**16 + 20_000


@pytest.mark.parametrize(("length", "status"), [("99999999999999999999999", 413), ("1e9", 400), ("-1", 400)])
def test_a_claimed_length_is_believed_at_once(client, length, status) -> None:
    headers = {"content-length": length, "content-type": "application/json"}
    assert client("POST", "/v1/search", headers=headers, content=b"").status_code == status


def test_a_body_that_does_not_come_is_given_up(serve) -> None:
    client = serve(body_timeout_s=0.05)

    async def never():
        yield b"{"
        await asyncio.sleep(5)

    response = client("POST", "/v1/search", content=never(), headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["error"]["code"]) == (408, "request_timeout")


@pytest.mark.parametrize(
    ("method", "address", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1/items/../../etc/passwd", 404, "not_found"),
        ("GET", "/v1/media/..%2F..%2Fetc%2Fpasswd", 404, "not_found"),
        ("GET", "/v1/media/%2Fetc%2Fpasswd?size=original", 404, "not_found"),
        ("GET", "/v1/media/file:%2F%2F%2Fetc%2Fpasswd", 404, "not_found"),
        ("GET", "/v1/media/image:red-circle-train%00", 404, "not_found"),
        ("GET", "/page/..%2Fapp.py", 404, "not_found"),
        ("GET", "/page/%2Fetc%2Fpasswd", 404, "not_found"),
        ("DELETE", "/v1/search", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("BREW", "/v1/search", 405, "method_not_allowed"),
        ("GET", "/v1/search", 422, "invalid"),
        ("GET", "/v1/media/image:red-circle-train?size=huge", 422, "invalid"),
        ("POST", "/v1/search", 422, "invalid"),
    ],
)
def test_every_error_has_the_same_body(client, method, address, status, code) -> None:
    response = client(method, address)
    assert response.status_code == status
    assert set(response.json()) == {"error"}
    assert set(response.json()["error"]) == {"code", "message"}
    assert response.json()["error"]["code"] == code
    assert response.headers["x-content-type-options"] == "nosniff"


def test_another_content_type_is_refused(client) -> None:
    response = client("POST", "/v1/search", content=b"<a/>", headers={"content-type": "application/xml"})
    assert (response.status_code, response.json()["error"]["code"]) == (415, "unsupported_media_type")


def test_a_failure_of_the_server_tells_nothing(client, searcher, monkeypatch, caplog) -> None:
    def broken(*_, **__):
        raise RuntimeError("/secret/place/index.sqlite is gone")

    monkeypatch.setattr(searcher, "answer_many", broken)
    response = client("POST", "/v1/search", json=WORDS)
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal"
    assert "secret" not in response.text
    assert "secret" in caplog.text  # the log of the server does
    assert response.headers["content-security-policy"]


def test_places_on_this_machine_are_left_out_of_messages(client, searcher, monkeypatch) -> None:
    def refusing(*_, **__):
        raise DataError("the file '/home/ann/my index/index.sqlite' is damaged; run `diptych index`.")

    monkeypatch.setattr(searcher, "answer_many", refusing)
    assert "/home" not in client("POST", "/v1/search", json=WORDS).json()["error"]["message"]
    assert without_places("C:\\Users\\ann\\x is gone") == "… is gone"
    assert without_places("no '/home/ann smith/my index/x y.npz' here") == "no … here"
    assert without_places("no ../models/best/weights.npz or './a b/c'") == "no … or …"
    assert without_places("image:harbour/7.jpg and 3/4 stay") == "image:harbour/7.jpg and 3/4 stay"


def test_only_images_are_shown_and_everything_else_is_handed_over(client, searcher, monkeypatch) -> None:
    monkeypatch.setattr(searcher, "original", lambda id: (b"<svg/>", "image/svg+xml"))
    response = client("GET", "/v1/media/image:red-circle-train?size=original")
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == "attachment"
    assert "sandbox" in response.headers["content-security-policy"]
    assert "image/svg+xml" not in SHOWN and "text/html" not in SHOWN


def test_media_are_not_sent_twice(client) -> None:
    first = client("GET", "/v1/media/image:red-circle-train")
    again = client("GET", "/v1/media/image:red-circle-train", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_words_have_no_media(client) -> None:
    assert client("GET", "/v1/media/text:red-circle-train").status_code == 404
    assert client("GET", "/v1/items/text:red-circle-train").json()["media"] is None


def test_who_asks_too_often_waits_and_others_do_not(serve) -> None:
    client = serve(rate_per_second=1)
    statuses = [client("GET", "/v1/search?q=red").status_code for _ in range(8)]
    assert statuses[:5] == [200] * 5 and statuses[-1] == 429
    refused = client("GET", "/v1/search?q=red")
    assert refused.json()["error"]["code"] == "too_many_requests"
    assert int(refused.headers["retry-after"]) >= 1
    assert client("GET", "/healthz").status_code == 200


def test_buckets_fill_at_their_rate_and_are_forgotten_in_order() -> None:
    now = 0.0
    buckets = Buckets(2.0, clock=lambda: now)
    assert [buckets.take("a") for _ in range(10)] == [0.0] * 10
    assert buckets.take("a") == pytest.approx(0.5)
    assert buckets.take("b") == 0.0
    now = 0.5
    assert buckets.take("a") == 0.0
    assert buckets.take("a") > 0
    for number in range(11_000):
        buckets.take(str(number))
    assert len(buckets) == 10_000


def test_a_client_that_goes_away_is_no_failure(client, caplog) -> None:
    scope = {"type": "http", "method": "POST", "path": "/v1/search", "raw_path": b"/v1/search", "query_string": b""}
    scope |= {"headers": [(b"content-type", b"application/json")], "client": ("127.0.0.1", 1), "http_version": "1.1"}
    sent = []

    async def gone():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    client.run(client.app(scope, gone, send))
    assert sent == [] and "failed" not in caplog.text
    assert 'status="499"' in client("GET", "/metrics").text


@pytest.mark.parametrize(
    "charset", ["utf-7", "unicode_escape", "rot13", "hex", "no-such", "punycode", "idna", "undefined"]
)
def test_strange_encodings_of_a_form_are_no_failure(client, charset) -> None:
    field = b'--x\r\nContent-Disposition: form-data; name="query"\r\n\r\n{"into": "+2AA-\\ud800"}\r\n'
    file = b'--x\r\nContent-Disposition: form-data; name="image"; filename="p"\r\n\r\n..\r\n--x--\r\n'
    headers = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
    response = client("POST", "/v1/search", content=field + file, headers=headers)
    assert response.status_code in (400, 422)


def test_the_page_may_load_nothing_from_elsewhere(client) -> None:
    page = client("GET", "/")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self'" in policy and "default-src 'none'" in policy and "unsafe" not in policy
    assert "http://" not in page.text.replace("http://www.w3.org", "") and "https://" not in page.text
    again = client("GET", "/", headers={"If-None-Match": page.headers["etag"]})
    assert again.status_code == 304


def test_counting_the_results_of_an_image_keeps_to_the_same_limits(client, searcher) -> None:
    parts = [{"kind": "image", "data": base64.b64encode(claims(8_000, 8_000)).decode()}]
    response = client("POST", "/v1/facets", json={"parts": parts})
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_many_pixels")
    sound = [{"kind": "audio", "data": base64.b64encode(b"no sound").decode()}]
    assert client("POST", "/v1/facets", json={"parts": sound}).status_code == 422
    assert searcher.batches == []
