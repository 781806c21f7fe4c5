"""Purposes over HTTP, with an index that was really built."""

import json

import numpy as np
import pytest

from diptych.methods import registry
from diptych.search import QueryPart, Searcher, build_index
from diptych.serving import create_app
from search.gallery import make, png
from serving.asgi_client import AsgiClient
from two_spaces import ENTRY


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._METHODS, "two-spaces", ENTRY)
        dataset = make(folder, method="two-spaces")
        for purpose in ("both", "class", "partner"):
            build_index(folder / "model", dataset, folder / purpose, purpose=purpose, projection="none")
        yield folder


@pytest.fixture(scope="module")
def client(folder):
    app = create_app(Searcher.open(folder / "both"))
    opened = AsgiClient(app)
    yield opened
    opened.close()
    app.state.service.close()


def scores(response) -> dict[str, float]:
    assert response.status_code == 200, response.text
    return {hit["id"]: hit["score"] for hit in response.json()["hits"]}


def test_the_index_says_what_can_be_looked_for(client) -> None:
    info = client("GET", "/v1/info").json()
    assert info["purposes"] == ["class", "partner", "both"]
    assert info["by_purpose"]["partner"]["belongs_means"] == "document"


@pytest.mark.parametrize("purpose", ["class", "partner"])
def test_a_purpose_is_answered_as_by_an_index_of_that_space(client, folder, purpose) -> None:
    with Searcher.open(folder / purpose) as alone:
        expected = {hit.id: hit.score for hit in alone.search([QueryPart("text", "a blue wall")], k=50).hits}
    asked = {"parts": [{"kind": "text", "text": "a blue wall"}], "k": 50, "purpose": purpose}
    answers = [
        client("POST", "/v1/search", json=asked),
        client("GET", "/v1/search", params={"q": "a blue wall", "k": 50, "purpose": purpose}),
    ]
    for answer in answers:
        assert answer.json()["purpose"] == purpose
        np.testing.assert_allclose(list(scores(answer).values()), list(expected.values()), atol=1e-5)


def test_forms_and_items_take_a_purpose(client) -> None:
    form = {"query": json.dumps({"into": "text", "k": 3, "purpose": "partner"})}
    shown = client("POST", "/v1/search", files={"image": ("x.png", png("red", "mine"))}, data=form)
    assert shown.json()["purpose"] == "partner"
    alike = client("GET", "/v1/similar/image:red-00", params={"purpose": "class", "k": 3})
    assert alike.json()["purpose"] == "class"
    assert client("GET", "/v1/search?q=red").json()["purpose"] == "partner"
    assert client("GET", "/v1/search?q=red&purpose=both").json()["purpose"] == "both"
    assert client("GET", "/v1/similar/image:red-00").json()["purpose"] == "both"


def test_what_no_index_has_is_invalid_and_what_this_one_lacks_refused(client, folder) -> None:
    wrong = client("GET", "/v1/search?q=red&purpose=twin")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")
    app = create_app(Searcher.open(folder / "class"))
    alone = AsgiClient(app)
    refused = alone("GET", "/v1/search?q=red&purpose=partner")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "refused")
    assert "has no partner space" in refused.json()["error"]["message"]
    alone.close()
    app.state.service.close()
