"""A scripted curator teaches RSICD without any labels: `python -m benchmarks.teaching RSICD --work FOLDER`.

RSICD is the folder with `pairs.jsonl` and `images.tar`. Its labels are taken away before anything sees the data; the
script keeps them as the truth by which the curator answers and the served index is scored. Everything that is made
stays in the work folder, so that a second run asks again without making features again. It writes
docs/results/teaching.md.
"""

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from diptych.data import Dataset, Labels
from diptych.evaluation import mean_average_precision
from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, save_model
from diptych.search import Searcher, build_index

PAGE = Path(__file__).parent.parent / "docs" / "results" / "teaching.md"
KEY = "the-key-of-the-scripted-curator"
AIM = 0.85
_SHOWN_AT_ONCE, _MOST_ROUNDS = 50, 60
_START_S, _LEARN_S = 120.0, 3_600.0


class Server:
    """Requests to a running `diptych serve`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def __call__(self, method: str, path: str, body: object = None, **query: Any) -> Any:  # noqa: ANN401
        """Send a request and return what the body says."""
        address = f"{self._address}{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with self._opener.open(urllib.request.Request(address, data, headers, method=method), timeout=120) as answer:
            return json.loads(answer.read())


@contextmanager
def serving(index: Path) -> Iterator[Server]:
    """Serve an index in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "diptych.cli", "serve", str(index), "--port", str(port)]
    process = subprocess.Popen(command, env=os.environ | {"DIPTYCH_WRITE_KEY": KEY}, stderr=subprocess.DEVNULL)
    server, until = Server(f"http://127.0.0.1:{port}"), time.monotonic() + _START_S
    try:
        while True:
            try:
                server("GET", "/readyz")
                break
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > until or process.poll() is not None:
                    raise
                time.sleep(0.2)
        yield server
    finally:
        process.terminate()
        process.wait(60)


def made_searchable(rsicd: Path, work: Path) -> tuple[Path, dict[str, str]]:
    """Ingest RSICD without labels, fit what suits pairs alone and build the index; returns it and the truth."""
    rows = [json.loads(line) for line in (rsicd / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    truth = {f"{number:05d}": row["label"] for number, row in enumerate(rows)}
    pairs, index = work / "pairs.jsonl", work / "index"
    if not pairs.exists():
        work.mkdir(parents=True, exist_ok=True)
        lines = (
            {"id": id, "image": row["image"], "text": " ".join(row["captions"]), "split": row["split"]}
            for id, row in zip(truth, rows, strict=True)
        )
        pairs.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    if not index.exists():
        if not (work / "dataset").exists():
            ingest(IngestOptions(pairs, work / "dataset", images=rsicd / "images.tar", name="rsicd"))
        dataset = Dataset.open(work / "dataset")
        save_model(create("auto").fit(dataset), work / "model", overwrite=True)
        build_index(work / "model", dataset, index)
    return index, truth


def served_map(index: Path, truth: Mapping[str, str]) -> dict[str, float]:
    """MAP of the test items as they stand in the index, image to text and text to image averaged, by purpose."""
    names = sorted(set(truth.values()))
    with Searcher.open(index) as searcher:

        def look(generation: Any) -> dict[str, float]:  # noqa: ANN401 - a generation of the index
            ids = generation.index.list_ids(where="split = 'test'", modality="image", limit=10**6)
            items = [id.partition(":")[2] for id in ids]
            labels = Labels.from_codes([names.index(truth[item]) for item in items], names)
            rows = {
                modality: np.array([one.vector for one in generation.index.get([f"{modality}:{i}" for i in items])])
                for modality in ("image", "text")
            }
            purposes = [*generation.spaces.purposes] or [None]
            return {
                purpose or "all": float(
                    np.mean(
                        [
                            mean_average_precision(rows[a][:, columns], rows[b][:, columns], labels, labels)
                            for a, b in permutations(rows, 2)
                        ]
                    )
                )
                for purpose in purposes
                if (columns := generation.spaces.columns(purpose)) is not None
            }

        return searcher.generations.read(look)


@dataclass(frozen=True)
class Taught:
    """One lesson and its results.

    Attributes:
        answers: how many were given.
        wrong: how many of them were wrong.
        shown: how many questions the curator looked at to find an item of every class.
        spread_right: the share of items without an answer whose guess is right, among those with a guess.
        spread: how many these are.
        answer_s: the slowest answer, spread and all.
        learn_s: from the last answer to the swapped index.
        map: of the served index on test items, by purpose.
        method: that was fitted.
        propagated: training pairs that labels were propagated to.
    """

    answers: int
    wrong: int
    shown: int
    spread_right: float
    spread: int
    answer_s: float
    learn_s: float
    map: dict[str, float]
    method: str
    propagated: int


def lesson(
    server: Server, index: Path, truth: Mapping[str, str], per_class: int, share_wrong: float, seed: int
) -> Taught:
    """Answer for so many items of every class, some of them wrongly, learn, and score what is served then."""
    classes, draw = sorted(set(truth.values())), random.Random(seed)
    chosen, shown = _chosen(server, truth, per_class)
    wrong = set(draw.sample(range(len(chosen)), round(share_wrong * len(chosen))))
    slowest = 0.0
    for number, item in enumerate(chosen):
        label = truth[item] if number not in wrong else draw.choice([name for name in classes if name != truth[item]])
        asked = time.perf_counter()
        server("PUT", "/v1/labels", {"items": [item], "label": label})
        slowest = max(slowest, time.perf_counter() - asked)
    answered = time.perf_counter()
    guesses = server("GET", "/v1/teach/spread")
    told = set(chosen)
    right = [
        truth[item] == label
        for item, label in zip(guesses["items"], guesses["labels"], strict=True)
        if label is not None and item not in told
    ]
    server("POST", "/v1/learn")
    while (state := server("GET", "/v1/learn"))["state"] == "running":
        if time.perf_counter() - answered > _LEARN_S:
            raise TimeoutError("learning takes longer than an hour")
        time.sleep(0.5)
    learned = time.perf_counter() - answered
    if state["state"] != "done":
        raise RuntimeError(f"learning ended as {state['state']}: {state['error']}")
    model = server("GET", "/v1/models")["models"][0]
    found = served_map(index, truth)
    return Taught(
        len(chosen),
        len(wrong),
        shown,
        float(np.mean(right)),
        len(right),
        slowest,
        learned,
        found,
        model["method"],
        model["propagated"],
    )


def _chosen(server: Server, truth: Mapping[str, str], per_class: int) -> tuple[list[str], int]:
    """Items to answer for, the first so many of each class among those that the server asks about."""
    missing = dict.fromkeys(sorted(set(truth.values())), per_class)
    chosen: list[str] = []
    shown = 0
    for _ in range(_MOST_ROUNDS):
        questions = [one["item"] for one in server("GET", "/v1/teach/next", n=_SHOWN_AT_ONCE)["questions"]]
        passed = []
        for item in questions:
            if not any(missing.values()):
                break
            shown += 1
            if missing[truth[item]]:
                missing[truth[item]] -= 1
                chosen.append(item)
            passed.append(item)
        if not any(missing.values()) or not questions:
            break
        server("PUT", "/v1/labels", {"items": passed, "answer": "skip"})
    return chosen, shown


def begin_again(server: Server) -> None:
    """Forget all answers and go back to the model of pairs alone."""
    server("POST", "/v1/models/m0001/activate")
    while labels := server("GET", "/v1/labels", limit=200)["labels"]:
        server("DELETE", "/v1/labels", item=[label["item"] for label in labels])


def page(before: Mapping[str, float], lessons: Sequence[tuple[str, Taught]], items: int, command: str) -> str:
    """The page of results."""
    best = lessons[0][1]
    rows = [
        f"| {name} | {one.answers} | {one.wrong} | {one.spread_right:.3f} | **{_of_class(one):.3f}** | "
        f"{one.map.get('both', 0.0):.3f} | {one.learn_s:.0f} s |"
        for name, one in lessons
    ]
    reached = "reach" if _of_class(best) >= AIM else "do not reach"
    lost = _of_class(best) - _of_class(lessons[1][1])
    head = (
        "| labels | given | wrong | propagated labels right | MAP, class | MAP, both spaces | last label to new index |"
    )
    return f"""# Teaching an index without labels

This page measures what [teaching](../how-to/teach.md) a few labels gains. A script plays the curator of an index of
RSICD ({items:,} aerial images with five captions each, 30 classes) without labels: it ingests images and texts, fits
a model on the pairs, serves its index, and does everything else through the HTTP API, like the web page. The server
asks for labels (`/v1/teach/next`), the script labels the first items of every class that it is asked about, starts
*learning* and waits until the server has switched to the new index. Only training items are asked about. MAP is
measured on the test items in the served index and averaged over both directions; their labels and pairing were never
seen. One seed, one thread. The times in the last column include other work on the machine. Written by `{command}`.

Before teaching, with pairs alone: MAP **{max(before.values()):.3f}**.

{head}
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(rows)}

- 30 labels, one per class, {reached} the aim of {AIM} ({_of_class(best):.3f}). It took {best.shown} questions to be
  asked about every class.
- Each label was stored and propagated to all items within {max(one.answer_s for _, one in lessons):.2f} s.
- {lessons[1][1].wrong} wrong labels of {lessons[1][1].answers} cost {lost:.3f}: with one label per class, nothing
  contradicts a wrong one.{_several(lessons)}
- The chosen method is `{best.method}`, fitted on labels propagated to {best.propagated:,} training pairs.
"""


def _of_class(one: Taught) -> float:
    return one.map.get("class", max(one.map.values()))


def _several(lessons: Sequence[tuple[str, Taught]]) -> str:
    """The effect of several labels per class."""
    if len(lessons) < 3:
        return ""
    one = lessons[2][1]
    return (
        f"\n- With several labels per class ({one.answers} in total, out of {one.shown:,} questions), {one.wrong} "
        f"wrong ones leave {_of_class(one):.3f}."
    )


def main() -> None:
    """Teach, score and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("rsicd", type=Path)
    arguments.add_argument("--work", type=Path, required=True)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--several", type=int, default=5, help="answers a class of the last lesson; 0 leaves it out")
    asked = arguments.parse_args()
    index, truth = made_searchable(asked.rsicd, asked.work)
    before = served_map(index, truth)
    print(f"before: {before}", flush=True)
    plans = [("one per class", 1, 0.0), ("one per class, 30 % wrong", 1, 0.3)]
    plans += [(f"{asked.several} per class, 30 % wrong", asked.several, 0.3)] if asked.several else []
    lessons = []
    with serving(index) as server:
        for place, (name, per_class, wrong) in enumerate(plans):
            if place or server("GET", "/v1/labels")["total"]:
                begin_again(server)
            lessons.append((name, lesson(server, index, truth, per_class, wrong, asked.seed)))
            print(f"{name}: {lessons[-1][1]}", flush=True)
    PAGE.write_text(page(before, lessons, len(truth), "python -m benchmarks.teaching RSICD --work FOLDER"), "utf-8")


if __name__ == "__main__":
    main()
