"""`diptych teach`: answers from a file or from the keyboard, learning, and the way back."""

import json
import shutil

import pytest

from diptych.cli import teach_command
from diptych.teach import LabelStore, learning
from teach.conftest import unlabelled  # noqa: F401 - a fixture


@pytest.fixture
def place(unlabelled, tmp_path):  # noqa: F811
    for name in ("raw", "dataset", "index"):
        shutil.copytree(unlabelled / name, tmp_path / name)
    return tmp_path


def test_answers_from_a_file_are_spread_learned_and_taken_back(diptych, place, monkeypatch) -> None:
    learn = learning.learn
    monkeypatch.setattr("diptych.teach.learn", lambda index, **options: learn(index, **options, method="sm"))
    index, table = place / "index", place / "answers.csv"
    rows = [f"{colour}-0{number},{colour}" for colour in ("red", "green", "blue", "grey") for number in (0, 1)]
    table.write_text("\n".join(["item,label", *rows, "nowhere,red", ",red"]) + "\n")
    ended = diptych("teach", index, "--answers", table, "--learn", "--json")
    assert ended.status == 0 and "9 answers read, 1 of items" in ended.err and "line 11" in ended.err
    said = json.loads(ended.out)
    assert said["imported"]["count"] == 9 and said["status"]["answered"] == 8 and said["status"]["spread"] > 50
    assert (said["model"]["id"], said["model"]["answers"]) == ("m0002", 9)
    shown = diptych("teach", index, "--models").out
    assert "m0001" in shown and "m0002" in shown
    back = json.loads(diptych("teach", index, "--activate", "m0001", "--json").out)["models"]
    assert [(one["id"], one["active"]) for one in back] == [("m0001", True), ("m0002", False)]
    assert diptych("teach", index, "--export", place / "out.csv").status == 0
    assert len((place / "out.csv").read_text().splitlines()) == 10
    refused = diptych("teach", index, "--activate", "m0009")
    assert refused.status == 2 and "there is no model 'm0009'" in refused.err


def test_questions_are_answered_from_the_keyboard(diptych, place, monkeypatch) -> None:
    typed = iter(["red", "", "-", "u", "2", "blue", "1", "q"])
    monkeypatch.setattr(teach_command.typer, "prompt", lambda *_, **__: next(typed))
    ended = diptych("teach", place / "index")
    assert ended.status == 0 and "of a cluster of" in ended.out and "expected accuracy" in ended.out
    with LabelStore(place / "index") as store:
        given = [(label.answer, label.label) for label in store.all().values()]
    assert sorted(given, key=str) == [("class", "blue"), ("class", "blue"), ("class", "red"), ("skip", None)]
    assert "there is no class 2" in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--answers", "gone.csv"], "gone.csv cannot be read"),
        (["--learn"], "teach at least 2"),
    ],
)
def test_mistakes_are_told(diptych, place, words, message) -> None:
    ended = diptych("teach", place / "index", *words)
    assert ended.status == 2 and message in ended.err and "Traceback" not in ended.err
