"""Readers during writes see every item whole: as it was, as it is, or not at all."""

import threading

import httpx

from diptych.serving import ServingSettings, create_app
from serving import fake_searcher
from serving.asgi_client import bearer
from serving.running_server import running

TURNS = 40
VERSIONS = ("red", "blue", "green")


def test_readers_during_writes_see_consistent_results(tmp_path) -> None:
    app = create_app(fake_searcher.filled(tmp_path), ServingSettings(write_key="w"))
    problems: list[str] = []
    counts = {"read": 0, "written": 0}
    with running(app) as address:
        done = threading.Event()

        def write() -> None:
            try:
                write_all()
            finally:
                done.set()

        def write_all() -> None:
            with httpx.Client(base_url=address, headers=bearer("w"), timeout=120) as client:
                for turn in range(TURNS):
                    colour = VERSIONS[turn % 3]
                    body = {"text": f"a {colour} circle", "metadata": {"label": colour, "mine": "yes"}}
                    answer = client.put("/v1/items/changing", json=body)
                    if turn % 5 == 4:
                        answer = client.delete("/v1/items/changing")
                        if client.get("/v1/items/changing").status_code != 404:
                            problems.append("a deleted item is still there")
                    elif client.get("/v1/items/changing").json()["metadata"]["label"] != colour:
                        problems.append("a write that was acknowledged is not read")
                    if answer.status_code != 200:
                        problems.append(answer.text)
                    counts["written"] += 1

        def read() -> None:
            with httpx.Client(base_url=address, timeout=120) as client:
                while not done.is_set():
                    params = {"q": "a red circle", "where": "mine = 'yes'", "k": 5}
                    answer = client.get("/v1/search", params=params)
                    if answer.status_code != 200:
                        problems.append(answer.text)
                        continue
                    for hit in answer.json()["hits"]:
                        known = hit["metadata"]
                        right = hit["id"] == "changing" and known["text"] == f"a {known['label']} circle"
                        closeness = hit["score"] > 0.99 if known["label"] == "red" else hit["score"] < 0.9
                        if not (right and closeness):  # vector, words and label belong to one version
                            problems.append(str(hit))
                    counts["read"] += 1

        threads = [threading.Thread(target=write), *(threading.Thread(target=read) for _ in range(3))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
    assert problems == []
    assert counts["written"] == TURNS
    assert counts["read"] > 3
