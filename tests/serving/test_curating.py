"""What a curator asks of the API: browse, count, sort, edit, delete whole items, and the map."""

import gzip
import json
import struct

import numpy as np
import pytest

from diptych.serving import ServingSettings, create_app
from serving import fake_searcher
from serving.asgi_client import AsgiClient, bearer


@pytest.fixture
def curator(tmp_path):
    app = create_app(fake_searcher.filled(tmp_path), ServingSettings(write_key="w"))
    opened = AsgiClient(app, bearer("w"))
    yield opened
    opened.close()
    app.state.service.close()


def test_items_are_browsed_each_once_and_say_how_many(curator) -> None:
    first, second = (curator("GET", f"/v1/browse?k=20&offset={start}").json() for start in (0, 20))
    items = [hit["item"] for page in (first, second) for hit in page["hits"]]
    assert len(items) == len(set(items)) == first["total"] == 36
    assert curator("GET", "/v1/browse?where=label+%3D+'red'").json()["total"] == 6
    assert curator("GET", "/v1/browse?sort=colour").status_code == 422


def test_counts_follow_the_query(curator) -> None:
    whole = curator("POST", "/v1/facets", json={}).json()
    assert whole["of"] == 36 and {one["count"] for one in whole["facets"]["label"]} == {6}
    body = {"parts": [{"kind": "text", "text": "circle"}], "mode": "lexical", "where": "label in ('red', 'blue')"}
    some = curator("POST", "/v1/facets", json=body).json()
    assert some == {"facets": {"label": [{"value": "blue", "count": 2}, {"value": "red", "count": 2}]}, "of": 4}
    assert curator("POST", "/v1/facets", json={"keys": ["text"]}).json()["error"]["code"] == "refused"


def test_results_are_sorted_and_carry_signatures(curator) -> None:
    body = {"parts": [{"kind": "text", "text": "red"}], "sort": "name", "k": 40, "signatures": True}
    hits = curator("POST", "/v1/search", json=body).json()["hits"]
    assert [hit["item"] for hit in hits] == sorted(hit["item"] for hit in hits)
    assert all(len(hit["signature"]) == 40 for hit in hits)


def test_an_item_is_changed_as_a_whole(curator) -> None:
    body = {"text": "a pink circle", "metadata": {"label": "pink", "split": None}}
    assert curator("PATCH", "/v1/items/image:red-circle-train", json=body).json() == {"count": 2}
    for id in ("image:red-circle-train", "text:red-circle-train"):
        known = curator("GET", f"/v1/items/{id}").json()["metadata"]
        assert (known["label"], known["text"]) == ("pink", "a pink circle") and "split" not in known
    assert curator("PATCH", "/v1/items/nothing", json=body).status_code == 404
    assert curator("PATCH", "/v1/items/nothing", json={"colour": 1}).status_code == 422


def test_an_item_is_deleted_as_a_whole(curator) -> None:
    assert curator("DELETE", "/v1/items/image:red-circle-train?whole=true").json() == {"count": 2}
    assert curator("GET", "/v1/items/text:red-circle-train").status_code == 404
    assert curator("GET", "/v1/browse").json()["total"] == 35


def test_the_page_learns_what_its_key_may_do(curator) -> None:
    assert curator("GET", "/v1/info").json()["limits"]["role"] == "admin"
    assert curator("GET", "/v1/info", headers={"Authorization": ""}).json()["limits"]["role"] == "none"


def test_the_map_is_columns_of_bytes(curator) -> None:
    answer = curator("GET", "/v1/map", headers={"Accept-Encoding": "identity"})
    data = gzip.decompress(answer.content) if answer.content[:2] == b"\x1f\x8b" else answer.content
    (length,) = struct.unpack("<I", data[:4])
    head = json.loads(data[4 : 4 + length])
    assert head["count"] == len(head["ids"]) == 36 and set(head["labels"]) == set(fake_searcher.shapes.COLOURS)
    rest = data[4 + length :]
    assert length % 4 == 0 and len(rest) == 36 * (4 + 4 + 2)
    codes = np.frombuffer(rest[36 * 8 :], "<u2")
    assert [head["labels"][code] for code in codes] == [id.split(":")[1].split("-")[0] for id in head["ids"]]
    mark = answer.headers["etag"]
    assert curator("GET", "/v1/map", headers={"If-None-Match": mark}).status_code == 304
