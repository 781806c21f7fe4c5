"""Teaching over HTTP: labels, questions, learning and models, with the right key only."""

import time

import pytest

from diptych.search import Searcher
from diptych.serving import ServingSettings, create_app
from diptych.teach import LearnJob
from search.gallery import png
from serving.asgi_client import AsgiClient, bearer
from teach.conftest import truth

CLASSES = ("red", "green", "blue", "grey")


@pytest.fixture
def client(own):
    app = create_app(Searcher.open(own, writable=True), ServingSettings(write_key="w"))
    opened = AsgiClient(app, bearer("w"))
    yield opened
    opened.close()
    app.state.service.close()


def taught(client, colours=CLASSES) -> dict:
    for colour in colours:
        response = client("PUT", "/v1/labels", json={"items": [f"image:{colour}-00", f"{colour}-01"], "label": colour})
        assert response.status_code == 200, response.text
    return response.json()


def learned(client, timeout_s=120.0) -> dict:
    until = time.monotonic() + timeout_s
    while (state := client("GET", "/v1/learn").json())["state"] == "running" and time.monotonic() < until:
        time.sleep(0.1)
    return state


def test_an_answer_is_kept_spread_and_undone(client) -> None:
    status = taught(client)["status"]
    assert status["answered"] == 8 and status["spread"] > 50 and status["held_out"]["accuracy"] > 0.8
    assert {one["label"]: one["taught"] for one in status["classes"]} == dict.fromkeys(CLASSES, 2)
    assert {one["dataset"] for one in status["classes"]} == {0}
    again = client("PUT", "/v1/labels", json={"items": ["red-00", "red-05"], "label": "rust"}).json()
    assert again["before"][0]["label"] == "red" and again["before"][0]["who"] == "write-key"
    assert again["before"][1] is None and again["count"] == 2
    listed = client("GET", "/v1/labels?limit=5").json()
    assert listed["total"] == 9 and len(listed["labels"]) == 5
    rest = client("GET", f"/v1/labels?limit=5&after={listed['next']}").json()
    assert len(rest["labels"]) == 4 and rest["next"] is None
    gone = client("DELETE", "/v1/labels?item=image:red-00&item=red-05&item=never").json()
    assert gone["count"] == 2 and "rust" not in {one["label"] for one in gone["status"]["classes"]}
    assert client("GET", "/v1/labels?label=green&answer=class").json()["total"] == 2


def test_questions_show_the_item_and_mistakes_can_be_seen(client) -> None:
    asked = client("GET", "/v1/teach/next?n=6").json()
    assert len(asked["questions"]) == 6 and asked["classes"] == []
    first = asked["questions"][0]
    assert first["reason"] == "cluster" and first["cluster_size"] > 1 and first["guess"] is None
    assert set(first["entries"]) == {"image", "text"} and first["media"] and first["metadata"]["text"]
    client("PUT", "/v1/labels", json={"items": [first["item"]], "answer": "skip"})
    taught(client)
    assert first["item"] not in {one["item"] for one in client("GET", "/v1/teach/next?n=50").json()["questions"]}
    page = client("GET", "/v1/teach/items?label=red&order=certain&limit=3").json()
    assert page["total"] > 10 and page["items"][0]["taught"] and page["items"][0]["guess"] == "red"
    columns = client("GET", "/v1/teach/spread").json()
    right = [truth(item) == label for item, label in zip(columns["items"], columns["labels"], strict=True) if label]
    assert len(columns["certainties"]) == 80 and sum(right) > 0.9 * len(right)


def test_labels_go_through_a_table(client) -> None:
    taught(client)
    table = client("GET", "/v1/labels.csv")
    assert table.headers["content-type"].startswith("text/csv") and len(table.text.splitlines()) == 9
    client("DELETE", "/v1/labels?item=red-00")
    send = {"headers": {"content-type": "text/csv"}}
    done = client(
        "PUT", "/v1/labels.csv", content=table.content + b"nowhere,class,red,,,\nx,dance,red,,,\n", **send
    ).json()
    assert done["count"] == 9 and done["unknown"] == 1 and done["problems"][0]["line"] == 11
    assert done["status"]["answered"] == 8
    wrong = client("PUT", "/v1/labels.csv", content=b"\xff\xfe", **send)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("PUT", "/v1/labels", {"items": ["nowhere"], "label": "x"}, 404, "not_found"),
        ("PUT", "/v1/labels", {"items": ["red-00"]}, 422, "invalid"),
        ("PUT", "/v1/labels", {"items": ["red-00"], "label": "x", "answer": "none"}, 422, "invalid"),
        ("PUT", "/v1/labels", {"items": [], "label": "x"}, 422, "invalid"),
        ("PUT", "/v1/labels", {"items": ["red-00"], "label": "x", "why": 1}, 422, "invalid"),
        ("GET", "/v1/teach/next?n=1000", None, 422, "invalid"),
        ("POST", "/v1/learn", None, 409, "nothing_taught"),
        ("POST", "/v1/models/m0007/activate", None, 404, "not_found"),
        ("GET", "/v1/models/compare?q=red", None, 409, "not_kept"),
        ("GET", "/v1/models/compare?q=red&before=m0009", None, 404, "not_found"),
    ],
)
def test_what_is_wrong_is_said(client, method, path, body, status, code) -> None:
    response = client(method, path, json=body) if body is not None else client(method, path)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.text


def test_teaching_needs_the_key_that_writes(own) -> None:
    app = create_app(Searcher.open(own, writable=True), ServingSettings(write_key="w", read_key="r"))
    client = AsgiClient(app, bearer("r"))
    for method, path in (("GET", "/v1/teach"), ("GET", "/v1/labels"), ("POST", "/v1/learn"), ("GET", "/v1/labels.csv")):
        assert client(method, path).status_code == 403, path
    assert client("GET", "/v1/models").json()["models"][0]["id"] == "m0001"
    client.close()
    app.state.service.close()


@pytest.mark.slow
def test_a_model_is_learned_in_the_background_compared_and_taken_back(client, own, monkeypatch) -> None:
    start = LearnJob.start
    monkeypatch.setattr(LearnJob, "start", lambda job, **options: start(job, **options | {"method": "sm"}))
    taught(client)
    client("POST", "/v1/items", files={"image": ("x.png", png("blue", "mine"))}, data={"item": '{"id": "image:mine"}'})
    assert client("GET", "/v1/learn").json()["state"] == "idle"
    begun = client("POST", "/v1/learn")
    assert (begun.status_code, begun.json()["state"]) == (202, "running")
    assert client("POST", "/v1/learn").json()["error"]["code"] == "busy"
    assert client("POST", "/v1/models/m0001/activate").status_code in (200, 409)
    state = learned(client)
    assert (state["state"], state["model"], state["fraction"]) == ("done", "m0002", 1.0), state
    models = client("GET", "/v1/models").json()["models"]
    assert [(one["id"], one["active"], one["kept"]) for one in models] == [
        ("m0002", True, True),
        ("m0001", False, True),
    ]
    time.sleep(2.1)  # what is said of the index may be two seconds old
    assert models[0]["answers"] == 8 and models[0]["propagated"] > 30 and models[0]["method"] == "sm"
    assert client("GET", "/v1/info").json()["model"]["method"] == "sm"
    assert client("GET", "/v1/items/image:mine").status_code == 200
    found = client("GET", "/v1/models/compare?q=a+red+wall&q=xyzzy&k=5").json()
    assert (found["before"], found["after"]) == ("m0001", "m0002")
    red = found["queries"][0]
    assert len(red["before"]) == len(red["after"]) == 5 and red["kept"] + red["new"] == 5
    back = client("POST", "/v1/models/m0001/activate")
    assert back.status_code == 200 and back.json()["active"], back.text
    assert client("GET", "/v1/info").json()["model"]["method"] == "cca"
    assert client("GET", "/v1/items/image:mine").status_code == 200
    assert client("GET", "/v1/teach").json()["answered"] == 8


def test_learning_is_cancelled_and_a_dataset_that_is_gone_is_said(client, own, tmp_path) -> None:
    taught(client)
    assert client("POST", "/v1/learn").status_code == 202
    assert client("DELETE", "/v1/learn").json()["state"] == "cancelled"
    assert client("GET", "/v1/models").json()["models"][0]["id"] == "m0001"
    (tmp_path / "dataset").rename(tmp_path / "elsewhere")
    refused = client("POST", "/v1/learn")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_dataset")
    assert str(tmp_path) not in refused.text
    state = client("GET", "/v1/learn").json()
    assert not state["possible"] and "put it back" in state["why_not"]
