"""The server over an index that was really built: every address, once."""

import json

import pytest

from diptych.search import Searcher, build_index
from diptych.serving import ServingSettings, create_app
from search.gallery import make, png
from serving.asgi_client import AsgiClient, bearer


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    build_index(folder / "model", make(folder, components=4), folder / "index")
    return folder / "index"


@pytest.fixture(scope="module")
def client(built):
    app = create_app(Searcher.open(built, writable=True), ServingSettings(write_key="w"))
    opened = AsgiClient(app, bearer("w"))
    yield opened
    opened.close()
    app.state.service.close()


def labels(response) -> list[str]:
    assert response.status_code == 200, response.text
    return [hit["metadata"]["label"] for hit in response.json()["hits"]]


def test_words_find_images_and_an_image_finds_words(client) -> None:
    assert labels(client("GET", "/v1/search?q=a+blue+wall&into=image&k=3")) == ["blue"] * 3
    form = {"query": json.dumps({"into": "text", "k": 3})}
    assert (
        labels(client("POST", "/v1/search", files={"image": ("x.png", png("red", "mine"))}, data=form)) == ["red"] * 3
    )


def test_items_say_why_they_are_found_and_unknown_words_are_named(client) -> None:
    answer = client("GET", "/v1/search?q=a+bleu+wall+xylophonist&k=50").json()
    assert answer["mode"] == "hybrid" and "xylophonist" in answer["ignored"]
    assert "blue" in answer["did_you_mean"]
    items = [hit["item"] for hit in answer["hits"]]
    assert items and len(set(items)) == len(items)
    blue = client("GET", "/v1/search?q=blue+wall&k=5").json()
    assert {"blue", "wall"} <= {word for hit in blue["hits"] for word in hit["why"]["words"]}
    assert all(set(hit["entries"]) == {"image", "text"} and hit["media"] for hit in blue["hits"])
    assert any(word.startswith("bl") for word in client("GET", "/v1/suggest?q=bl").json()["suggestions"])
    by_words = client("GET", "/v1/search?q=wall&mode=lexical&k=50").json()
    assert by_words["mode"] == "lexical" and all(hit["why"]["words"] for hit in by_words["hits"])


def test_what_the_page_needs_is_there(client) -> None:
    info = client("GET", "/v1/info").json()
    assert info["dataset"]["name"] == "fields" and info["examples"] and info["attribution"]
    assert set(info["modalities"]) == {"image", "text"}
    assert set(info["classes"]) == {"red", "green", "blue", "grey"}
    points = client("GET", "/v1/projection").json()
    assert len(points["ids"]) == len(points["x"]) == info["entries"] == points["total"]
    assert info["items"] * 2 == info["entries"] and info["modes"] == ["hybrid", "vector", "lexical"]
    assert sum(info["classes"].values()) <= info["items"]
    hit = client("GET", "/v1/search?q=green&into=image&k=1").json()["hits"][0]
    assert hit["media"] and hit["probability"] is not None
    assert client("GET", hit["media"]).headers["content-type"].startswith("image/")
    assert client("GET", hit["media"] + "?size=original").headers["content-type"] == "image/png"
    assert hit["id"] not in {one["id"] for one in client("GET", f"/v1/similar/{hit['id']}?k=5").json()["hits"]}


def test_items_are_added_found_and_removed(client) -> None:
    item = json.dumps({"id": "mine", "metadata": {"label": "grey", "mine": 1}})
    made = client("POST", "/v1/items", files={"image": ("x.png", png("grey", "new"))}, data={"item": item})
    assert made.status_code == 201, made.text
    assert [hit["id"] for hit in client("GET", "/v1/search?q=grey&where=mine+%3D+1").json()["hits"]] == ["mine"]
    assert client("GET", "/v1/media/mine").status_code == 200
    assert client("DELETE", "/v1/items/mine").json() == {"count": 1}
    assert client("GET", "/v1/media/mine").status_code == 404


@pytest.mark.parametrize("query", [{"q": "red", "into": "smell"}, {"q": "red", "where": "x ="}])
def test_refusals_are_sentences_without_places(client, built, query) -> None:
    response = client("GET", "/v1/search", params=query)
    assert (response.status_code, response.json()["error"]["code"]) == (422, "refused")
    assert str(built.parent) not in response.text


def test_an_index_that_is_only_read_cannot_be_written(built) -> None:
    app = create_app(Searcher.open(built))
    reader = AsgiClient(app)
    try:
        assert reader("DELETE", "/v1/items/x").json()["error"]["code"] == "writes_off"
        assert reader("GET", "/v1/search?q=red").status_code == 200
    finally:
        reader.close()
        app.state.service.close()
