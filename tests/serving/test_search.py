"""Search over HTTP finds what belongs."""

import base64
import json

import pytest

from serving.coloured_shapes import Shape, image

RED = Shape("red", "circle", "train")
BLUE = Shape("blue", "square", "test")


def labels(response) -> list[str]:
    assert response.status_code == 200, response.text
    return [hit["metadata"]["label"] for hit in response.json()["hits"]]


def search(client, *parts, **options):
    return client("POST", "/v1/search", json={"parts": list(parts), **options})


def words(text: str, weight: float = 1.0) -> dict:
    return {"kind": "text", "text": text, "weight": weight}


def test_words_in_the_address_find_images(client) -> None:
    response = client("GET", "/v1/search", params={"q": "a red circle", "into": "image", "k": 6})
    assert labels(response) == ["red"] * 6
    assert {hit["modality"] for hit in response.json()["hits"]} == {"image"}


def test_a_result_carries_score_probability_and_where_its_image_is(client) -> None:
    answer = search(client, words("red"), into="image", k=1).json()
    hit = answer["hits"][0]
    assert hit["score"] == pytest.approx(1.0, abs=0.05)
    assert 0.5 < hit["probability"] <= 1
    assert answer["closest"] == hit["probability"]
    assert client("GET", hit["media"]).headers["content-type"] == "image/webp"


def test_an_uploaded_image_finds_words(client) -> None:
    form = {"query": json.dumps({"into": "text", "k": 6})}
    response = client("POST", "/v1/search", files={"image": ("x.png", image(BLUE))}, data=form)
    assert labels(response) == ["blue"] * 6


def test_an_image_in_base64_is_the_same_as_an_uploaded_one(client) -> None:
    part = {"kind": "image", "data": base64.b64encode(image(BLUE)).decode()}
    sent = search(client, part, k=5)
    uploaded = client("POST", "/v1/search", files={"image": ("x", image(BLUE))}, data={"query": '{"k": 5}'})
    assert sent.json()["hits"] == uploaded.json()["hits"]


def test_the_field_is_still_known_by_its_earlier_name(client) -> None:
    asked = [client("POST", "/v1/search", files={name: ("x", image(BLUE))}).json() for name in ("image", "picture")]
    assert [hit["id"] for hit in asked[0]["hits"]] == [hit["id"] for hit in asked[1]["hits"]] != []


def test_several_images_have_weights_in_order(client) -> None:
    files = [("image", ("a", image(RED))), ("image", ("b", image(BLUE)))]
    both = client("POST", "/v1/search", files=files, data={"query": '{"weights": [1, -0.2], "k": 6, "into": "image"}'})
    assert labels(both) == ["red"] * 6
    other = client("POST", "/v1/search", files=files, data={"query": '{"weights": [-0.2], "k": 6, "into": "image"}'})
    assert labels(other) == ["blue"] * 6


def test_mixtures_lead_towards_and_away(client) -> None:
    towards = search(client, words("red"), words("triangle"), into="text", k=2)
    assert all(hit["id"].startswith("text:red-triangle") for hit in towards.json()["hits"])
    away = search(client, words("red", 0.2), {"kind": "item", "id": "image:blue-square-test"}, into="image", k=5)
    assert labels(away) == ["blue"] * 5


def test_parts_that_cancel_are_refused_with_a_sentence(client) -> None:
    response = search(client, words("red"), words("red", -1))
    assert response.status_code == 422
    assert response.json()["error"] == {
        "code": "refused",
        "message": "the parts of the query cancel each other; change a weight.",
    }


def test_filters_pages_and_strictness(client) -> None:
    everything = search(client, words("red"), k=12, where="split = 'test'").json()["hits"]
    assert {hit["metadata"]["split"] for hit in everything} == {"test"}
    second = search(client, words("red"), k=6, offset=6, where="split = 'test'").json()["hits"]
    assert [hit["id"] for hit in second] == [hit["id"] for hit in everything[6:]]
    nothing = search(client, words("red"), where="label = 'blue'", min_probability=0.9).json()
    assert nothing["hits"] == []
    assert 0 <= nothing["closest"] < 0.9


def test_more_like_this_leaves_the_item_out(client) -> None:
    response = client("GET", "/v1/similar/image:red-circle-train", params={"into": "image", "k": 5})
    assert labels(response) == ["red"] * 5
    assert "image:red-circle-train" not in {hit["id"] for hit in response.json()["hits"]}
    gone = client("GET", "/v1/similar/no-such")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({"parts": []}, "parts"),
        ({"parts": [words("red")], "k": 0}, "k"),
        ({"parts": [words("red")], "k": 201}, "k"),
        ({"parts": [words("red")], "offset": -1}, "offset"),
        ({"parts": [words("red")], "min_probability": 2}, "min_probability"),
        ({"parts": [words("red", 1e300)]}, "weight"),
        ({"parts": [{"kind": "sound"}]}, "kind"),
        ({"parts": [{"kind": "image", "data": "A"}]}, "data"),
        ({"parts": [words("red")], "top": 3}, "top"),
        ({"parts": [words("red")], "where": "label ="}, "condition"),
        ({"parts": [words("red")], "into": "smell"}, "smell"),
        ({"parts": [words("red")], "mode": "magic"}, "mode"),
    ],
)
def test_what_is_wrong_is_named(client, body, part) -> None:
    response = client("POST", "/v1/search", json=body)
    assert response.status_code == 422
    assert part in response.json()["error"]["message"]


def test_queries_that_arrive_together_are_answered_together(searcher, client) -> None:
    searcher.pause = 0.05
    names = ["red", "green", "blue", "yellow", "purple", "grey"] * 3
    asked = [("POST", "/v1/search", {"json": {"parts": [words(name)], "into": "image", "k": 3}}) for name in names]
    for name, response in zip(names, client.together(*asked), strict=True):
        assert labels(response) == [name] * 3
    assert max(searcher.batches) > 10


def test_a_bad_query_does_not_spoil_those_answered_with_it(searcher, client) -> None:
    searcher.pause = 0.05
    wrong = {"kind": "item", "id": "no such"}
    parts = [words("red"), wrong, words("blue"), words("green")]
    asked = [("POST", "/v1/search", {"json": {"parts": [part]}}) for part in parts]
    assert [response.status_code for response in client.together(*asked)] == [200, 422, 200, 200]


def test_queries_that_want_different_things_are_kept_apart(searcher, client) -> None:
    searcher.pause = 0.02
    asked = [("GET", "/v1/search", {"params": {"q": "red", "k": k}}) for k in (1, 2, 3, 1, 2, 3)]
    assert [len(answer.json()["hits"]) for answer in client.together(*asked)] == [1, 2, 3, 1, 2, 3]


def test_too_many_waiting_queries_are_told_to_come_back(searcher, serve) -> None:
    searcher.pause = 0.05
    client = serve(max_waiting=2, max_batch=1)
    answers = client.together(*[("GET", "/v1/search", {"params": {"q": "red"}})] * 12)
    refused = [answer for answer in answers if answer.status_code == 503]
    assert refused and len(refused) < 12
    assert refused[0].json()["error"]["code"] == "busy"
    assert refused[0].headers["retry-after"] == "1"
    assert {answer.status_code for answer in answers} == {200, 503}
