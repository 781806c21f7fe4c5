"""Items are listed, added, replaced and deleted over HTTP."""

import base64
import json

import pytest

from serving.asgi_client import bearer
from serving.coloured_shapes import Shape, image

IMAGE = image(Shape("green", "square", "train"))


@pytest.fixture
def writer(serve):
    return serve(write_key="w", headers=bearer("w"))


def test_pages_of_a_list_hold_every_item_once(client) -> None:
    seen, after = [], ""
    while after is not None:
        page = client("GET", "/v1/items", params={"limit": 10, "after": after, "modality": "text"}).json()
        seen += [item["id"] for item in page["items"]]
        after = page["next"]
    assert len(seen) == len(set(seen)) == 36
    assert seen == sorted(seen)


def test_an_item_that_is_added_is_found_and_one_that_is_deleted_is_not(writer) -> None:
    body = {"items": [{"id": "new/words", "text": "a purple circle", "metadata": {"label": "purple", "tag": "fresh"}}]}
    made = writer("POST", "/v1/items", json=body)
    assert (made.status_code, made.json()) == (201, {"count": 1})
    found = writer("GET", "/v1/search", params={"q": "purple", "where": "tag = 'fresh'"}).json()["hits"]
    assert [hit["id"] for hit in found] == ["new/words"]
    assert writer("GET", "/v1/items/new%2Fwords").json()["metadata"]["text"] == "a purple circle"
    assert writer("DELETE", "/v1/items/new%2Fwords").json() == {"count": 1}
    assert writer("GET", "/v1/items/new%2Fwords").status_code == 404
    assert writer("DELETE", "/v1/items/new%2Fwords").status_code == 404
    assert not writer("GET", "/v1/search", params={"q": "purple", "where": "tag = 'fresh'"}).json()["hits"]


def test_an_image_is_added_as_a_form_and_replaced_as_json(writer) -> None:
    item = json.dumps({"id": "pic", "metadata": {"label": "green"}})
    made = writer("POST", "/v1/items", files={"image": ("p.png", IMAGE)}, data={"item": item})
    assert made.status_code == 201
    assert writer("GET", "/v1/media/pic?size=original").content == IMAGE
    blue = image(Shape("blue", "circle", "train"))
    body = {"data": base64.b64encode(blue).decode(), "metadata": {"label": "blue"}}
    assert writer("PUT", "/v1/items/pic", json=body).json() == {"count": 1}
    assert writer("GET", "/v1/media/pic", params={"size": "original"}).content == blue
    assert writer("GET", "/v1/items/pic").json()["metadata"]["label"] == "blue"


def test_an_id_that_is_taken_is_a_conflict_unless_it_may_be_replaced(writer) -> None:
    body = {"items": [{"id": "fresh", "text": "red"}, {"id": "text:red-circle-train", "text": "blue"}]}
    taken = writer("POST", "/v1/items", json=body)
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "exists")
    assert writer("GET", "/v1/items/fresh").status_code == 404  # all or none
    assert writer("POST", "/v1/items", json=body | {"replace": True}).json() == {"count": 2}
    assert writer("GET", "/v1/items/text:red-circle-train").json()["metadata"]["text"] == "blue"


@pytest.mark.parametrize("content", [{}, {"text": "red", "data": "AAAA"}])
def test_an_item_has_one_content(writer, content) -> None:
    response = writer("PUT", "/v1/items/x", json=content)
    assert response.status_code == 422
    assert "either text or data" in response.json()["error"]["message"]


def test_many_are_deleted_with_one_request(writer) -> None:
    known = [item["id"] for item in writer("GET", "/v1/items?limit=100").json()["items"]]
    gone, others = known[:30], known[30:]
    assert writer("POST", "/v1/items/delete", json={"ids": [*gone, gone[0]]}).json() == {"count": 30}
    assert [item["id"] for item in writer("GET", "/v1/items?limit=100").json()["items"]] == others


def test_many_whole_items_are_deleted_with_one_request(writer) -> None:
    body = {"ids": ["image:red-circle-train", "text:red-circle-train", "text:blue-circle-train"], "whole": True}
    assert writer("POST", "/v1/items/delete", json=body).json() == {"count": 4}
    assert writer("GET", "/v1/browse").json()["total"] == 34


@pytest.mark.parametrize("whole", [False, True])
def test_all_are_deleted_or_none_unless_some_may_be_missing(writer, whole) -> None:
    body = {"ids": ["text:red-circle-train", "nothing"], "whole": whole}
    refused = writer("POST", "/v1/items/delete", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
    assert "'nothing'" in refused.json()["error"]["message"]
    assert writer("GET", "/v1/items/text:red-circle-train").status_code == 200
    body |= {"missing_ok": True}
    assert writer("POST", "/v1/items/delete", json=body).json() == {"count": 1 + whole}
    assert writer("POST", "/v1/items/delete", json=body).json() == {"count": 0}
    assert writer("GET", "/v1/items/text:red-circle-train").status_code == 404


@pytest.mark.parametrize(
    "body, said",
    [
        ({}, "ids: Field required"),
        ({"ids": []}, "ids: List should have at least 1 item"),
        ({"ids": [""]}, "ids.0: String should have at least 1 character"),
        ({"ids": [7]}, "ids.0: Input should be a valid string"),
        ({"ids": ["a" * 1025]}, "ids.0: String should have at most 1024 characters"),
        ({"ids": ["a"] * 5001}, "ids: List should have at most 5000 items"),
        ({"ids": ["a"], "all": True}, "all: Extra inputs are not permitted"),
    ],
)
def test_a_deletion_that_makes_no_sense_is_refused(writer, body, said) -> None:
    refused = writer("POST", "/v1/items/delete", json=body)
    assert refused.status_code == 422 and said in refused.json()["error"]["message"]
    assert writer("GET", "/v1/browse").json()["total"] == 36


def test_an_item_may_be_called_delete(writer) -> None:
    assert writer("PUT", "/v1/items/delete", json={"text": "red"}).json() == {"count": 1}
    assert writer("GET", "/v1/items/delete").json()["metadata"]["text"] == "red"
    assert writer("DELETE", "/v1/items/delete").json() == {"count": 1}


def test_info_counts_what_was_added(writer) -> None:
    before = writer("GET", "/v1/info").json()
    writer("POST", "/v1/items", json={"items": [{"id": "one", "text": "red"}]})
    after = writer("GET", "/v1/info").json()
    assert (after["items"], after["entries"]) == (before["items"] + 1, before["entries"] + 1)
    assert len(writer("GET", "/v1/projection").json()["ids"]) == before["entries"] + 1


def test_writes_are_off_without_a_write_key(client, searcher) -> None:
    for method, address, options in (
        ("POST", "/v1/items", {"json": {"items": [{"id": "x", "text": "red"}]}}),
        ("PUT", "/v1/items/text:red-circle-train", {"json": {"text": "blue"}}),
        ("DELETE", "/v1/items/text:red-circle-train", {}),
        ("POST", "/v1/items/delete", {"json": {"ids": ["text:red-circle-train"]}}),
    ):
        response = client(method, address, headers=bearer("anything"), **options)
        assert (response.status_code, response.json()["error"]["code"]) == (403, "writes_off")
        assert "writes are off" in response.json()["error"]["message"]
    assert searcher.get("x") is None
    assert searcher.get("text:red-circle-train").metadata["text"].startswith("a red")
