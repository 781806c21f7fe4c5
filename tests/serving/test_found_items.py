"""A result is an item, found through any of its sides, and says why; suggestions come beside searches."""

import json
import threading
import time

import pytest

from serving.coloured_shapes import Shape, image

MODES = ["hybrid", "vector", "lexical"]


def ask(client, text: str, **options) -> dict:
    response = client("POST", "/v1/search", json={"parts": [{"kind": "text", "text": text}], **options})
    assert response.status_code == 200, response.text
    return response.json()


def test_every_item_is_there_once_with_both_its_sides(client) -> None:
    answer = ask(client, "red", k=200)
    assert len(answer["hits"]) == len({hit["item"] for hit in answer["hits"]}) == answer["total"] == 36
    best = answer["hits"][0]
    name = best["item"]
    assert best["entries"] == {"image": f"image:{name}", "text": f"text:{name}"}
    assert best["id"] == f"image:{name}" and best["media"] == f"/v1/media/image%3A{name}"
    assert best["metadata"]["text"].startswith("a red")
    pages = [ask(client, "red", k=5, offset=start)["hits"] for start in range(0, 40, 5)]
    assert [hit["item"] for page in pages for hit in page] == [hit["item"] for hit in answer["hits"]]


def test_one_side_can_still_be_asked_for(client) -> None:
    texts = ask(client, "red", into="text", k=200)["hits"]
    assert {hit["modality"] for hit in texts} == {"text"} and len(texts) == 36


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_arrives_by_every_way_of_asking(client, searcher, mode) -> None:
    form = {"query": json.dumps({"parts": [{"kind": "text", "text": "red circle"}], "mode": mode})}
    shape = {"image": ("x.png", image(Shape("red", "circle", "train")))}
    answers = [
        client("GET", "/v1/search", params={"q": "red circle", "mode": mode}),
        client("POST", "/v1/search", json={"parts": [{"kind": "text", "text": "red circle"}], "mode": mode}),
        client("POST", "/v1/search", files=shape, data=form),
        client("GET", "/v1/similar/text:red-circle-train", params={"mode": mode}),
    ]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert [query.mode for query in searcher.asked] == [mode] * 4
    assert [answer.json()["mode"] for answer in answers] == [mode, mode, mode, "vector"]


def test_unless_told_otherwise_words_and_vectors_count_together(client, searcher) -> None:
    assert ask(client, "red")["mode"] == "hybrid"
    assert client("GET", "/v1/search?q=red").json()["mode"] == "hybrid"
    assert {query.mode for query in searcher.asked} == {"hybrid"}


def test_a_result_says_why_it_is_there(client) -> None:
    why = ask(client, "Red circle")["hits"][0]["why"]
    assert set(why["words"]) == {"red", "circle"} and why["side"] == "words" and why["bm25"] == 1
    assert -1 <= why["image"] <= 1 and -1 <= why["text"] <= 1
    by_image = client("POST", "/v1/search", files={"image": ("x", image(Shape("red", "circle", "train")))}).json()
    assert by_image["hits"][0]["why"]["side"] == "image" and by_image["hits"][0]["why"]["words"] == []
    lexical = ask(client, "circle", mode="lexical", k=200)
    assert lexical["total"] == 12
    assert all(hit["why"]["words"] == ["circle"] for hit in lexical["hits"])


def test_unknown_words_are_named_and_near_ones_offered(client) -> None:
    answer = ask(client, "a rad circle xyzzy")
    assert answer["ignored"] == ["rad", "xyzzy"] and answer["did_you_mean"] == "a red circle xyzzy"
    assert not answer["nothing_close"]
    corrected = ask(client, "yelow")
    assert corrected["corrected"] and corrected["did_you_mean"] == "yellow" and not corrected["nothing_close"]
    typed = ask(client, "yelow", correct=False)
    assert not typed["corrected"] and typed["nothing_close"]
    strange = ask(client, "xyzzy")
    assert strange["nothing_close"] and strange["hits"] and strange["did_you_mean"] is None


def test_words_are_completed(client) -> None:
    assert client("GET", "/v1/suggest?q=re").json() == {"suggestions": ["red"]}
    assert client("GET", "/v1/suggest?q=a+red+tr").json() == {"suggestions": ["a red triangle"]}
    assert client("GET", "/v1/suggest?q=zz").json() == {"suggestions": []}
    assert len(client("GET", "/v1/suggest?q=a&limit=1").json()["suggestions"]) == 1


@pytest.mark.parametrize("query", ["", "?q=", "?q=" + "a" * 201, "?q=a&limit=0", "?q=a&limit=21", "?q=a&more=1"])
def test_what_cannot_be_completed_is_invalid(client, query) -> None:
    response = client("GET", "/v1/suggest" + query)
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid")


def test_suggestions_wait_for_no_search(client, searcher) -> None:
    searcher.pause = 1.0
    asking = threading.Thread(target=lambda: ask(client, "red"))
    asking.start()
    while not searcher.batches:
        time.sleep(0.01)
    started = time.perf_counter()
    assert client("GET", "/v1/suggest?q=re").status_code == 200
    assert time.perf_counter() - started < 0.9
    assert asking.is_alive()
    asking.join()
    assert {name.rsplit("_", 1)[0] for name in searcher.threads} == {"diptych-words", "diptych-suggest"}


def test_too_many_waiting_suggestions_are_told_to_come_back(client, searcher, monkeypatch) -> None:
    monkeypatch.setattr(searcher, "suggest", lambda prefix, limit: time.sleep(0.02) or [])
    answers = client.together(*[("GET", "/v1/suggest?q=re", {})] * 100)
    assert {answer.status_code for answer in answers} == {200, 503}
    assert client("GET", "/v1/suggest?q=re").status_code == 200


def test_typing_costs_less_of_the_rate_than_asking(serve) -> None:
    client = serve(rate_per_second=1)
    assert {client("GET", "/v1/suggest?q=re").status_code for _ in range(20)} == {200}


def test_counts_are_of_items(client) -> None:
    info = client("GET", "/v1/info").json()
    assert (info["items"], info["entries"]) == (36, 72)
    assert info["classes"]["red"] == 6
