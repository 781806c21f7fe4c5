"""Sounds over HTTP: as queries, as items, played in whole and in ranges; hostile ones cost little."""

import base64
import json
import time

import numpy as np
import pytest

pytest.importorskip("soundfile", reason="reading sounds needs the extra 'audio'")

from diptych.search import Searcher, build_index
from diptych.serving import ServingSettings, create_app
from media.sounds import noise, sound_file, wav_header
from search.loud_things import make, picture, sound
from serving.asgi_client import AsgiClient, bearer


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heard")
    build_index(folder / "model", make(folder, each=12), folder / "index")
    app = create_app(Searcher.open(folder / "index", writable=True), ServingSettings(write_key="w", max_seconds=2))
    opened = AsgiClient(app, bearer("w"))
    yield opened
    opened.close()
    app.state.service.close()


def labels(response) -> list[str]:
    assert response.status_code == 200, response.text
    return [hit["metadata"]["label"] for hit in response.json()["hits"]]


def test_a_sound_is_a_query(client) -> None:
    form = {"query": json.dumps({"into": "text", "k": 4})}
    uploaded = client("POST", "/v1/search", files={"audio": ("x.ogg", sound("dog", 70))}, data=form)
    assert labels(uploaded).count("dog") >= 3
    part = {"kind": "audio", "data": base64.b64encode(sound("cow", 70)).decode()}
    assert labels(client("POST", "/v1/search", json={"parts": [part], "into": "image", "k": 4})).count("cow") >= 3
    both = {"image": ("x.png", picture("bird", 70)), "audio": ("x.ogg", sound("bird", 70))}
    mixed = client("POST", "/v1/search", files=both, data={"query": json.dumps({"k": 4, "weights": [1, 0.5]})})
    assert labels(mixed).count("bird") >= 3
    in_audio = client("GET", "/v1/search?q=a+brown+dog+that+barks&into=audio&k=4")
    assert labels(in_audio).count("dog") >= 3
    assert {hit["why"]["side"] for hit in in_audio.json()["hits"]} == {"audio"}


def test_a_sound_is_an_item(client) -> None:
    data = sound("cow", 42, "FLAC")
    body = {"item": json.dumps({"id": "audio:moo", "metadata": {"label": "cow"}})}
    assert client("POST", "/v1/items", files={"audio": ("x.flac", data)}, data=body).status_code == 201
    played = client("GET", "/v1/media/audio%3Amoo?size=original")
    assert played.content == data and played.headers["content-type"] == "audio/flac"
    given = {"items": [{"id": "audio:two", "data": base64.b64encode(sound("dog", 43)).decode()}]}
    assert client("POST", "/v1/items", json=given).status_code == 201  # told by its content
    assert client("GET", "/v1/items/audio%3Atwo").json()["modality"] == "audio"
    assert client("PUT", "/v1/items/audio%3Atwo", files={"audio": ("x", data)}, data={"item": "{}"}).status_code == 200
    for id in ("audio%3Amoo", "audio%3Atwo"):
        assert client("DELETE", f"/v1/items/{id}").json() == {"count": 1}


def test_a_sound_is_played_in_ranges_and_drawn(client) -> None:
    address = "/v1/media/audio%3Adog-01"
    whole = client("GET", f"{address}?size=original")
    assert whole.status_code == 200 and whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["content-type"] == "audio/ogg" and "content-disposition" not in whole.headers
    size = len(whole.content)

    def part(asked: str, **headers: str):
        return client("GET", f"{address}?size=original", headers={"Range": asked, **headers})

    for asked, start, stop in (
        ("bytes=0-99", 0, 100),
        ("bytes=100-", 100, size),
        ("bytes=-50", size - 50, size),
        (f"bytes=10-{size + 999}", 10, size),
        ("bytes=-9999999", 0, size),
    ):
        found = part(asked)
        assert found.status_code == 206 and found.content == whole.content[start:stop], asked
        assert found.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
    for asked in (f"bytes={size}-", "bytes=5-2", "bytes=-", "bytes=-0"):
        refused = part(asked)
        assert refused.status_code == 416 and refused.headers["content-range"] == f"bytes */{size}", asked
        assert refused.json()["error"]["code"] == "range"
    for asked in ("bytes=0-1,5-6", "lines=1-2", "bytes=x-y", "bytes=" + "9" * 40 + "-"):
        assert part(asked).status_code == 200 and part(asked).content == whole.content
    mark = whole.headers["etag"]
    assert part("bytes=0-9", **{"If-Range": mark}).status_code == 206
    assert part("bytes=0-9", **{"If-Range": '"other"'}).status_code == 200
    assert client("GET", f"{address}?size=original", headers={"If-None-Match": mark}).status_code == 304
    small = client("GET", address)
    assert small.headers["content-type"] == "image/png" and small.content.startswith(b"\x89PNG")


HOSTILE = {
    "empty": (b"", 422, "not_a_sound"),
    "an image": (picture("dog", 1), 422, "not_a_sound"),
    "random": (np.random.default_rng(4).bytes(5000), 422, "not_a_sound"),
    "cut off": (sound("dog", 1)[:-300], 422, "not_a_sound"),
    "96 channels": (wav_header(channels=96, length=192) + b"\0" * 192, 413, "too_long"),
    "too long": (sound_file(noise(2.5), kind="OGG"), 413, "too_long"),
    "a claim of 2 GB": (wav_header(length=2**31) + b"\0" * 99, 422, "not_a_sound"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_sounds_are_refused_at_little_cost(client, name) -> None:
    data, status, code = HOSTILE[name]
    started = time.perf_counter()
    answer = client("POST", "/v1/search", files={"audio": ("x.wav", data)})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    item = client("POST", "/v1/items", files={"audio": ("x.wav", data)}, data={"item": '{"id": "audio:bad"}'})
    assert item.status_code == status and client("GET", "/v1/items/audio%3Abad").status_code == 404
    assert time.perf_counter() - started < 2


def test_the_limits_and_kinds_are_told(client) -> None:
    info = client("GET", "/v1/info").json()
    assert info["limits"]["max_seconds"] == 2 and set(info["takes"]) == {"image", "audio", "text"}
    nothing = client("POST", "/v1/search", files={"smell": ("x", b"x")})
    assert nothing.status_code == 422 and "holds no image" in nothing.json()["error"]["message"]
