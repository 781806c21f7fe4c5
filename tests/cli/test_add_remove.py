"""`diptych add` and `diptych remove`."""

import json

import pytest

from diptych.search import Searcher, build_index
from search.gallery import make, png


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("change")
    build_index(folder / "model", make(folder, components=4), folder / "index", projection="none")
    (folder / "new.png").write_bytes(png("blue", "new"))
    (folder / "note.txt").write_text("a grey cloth")
    return folder


def test_what_is_added_is_found_and_what_is_removed_is_not(diptych, place) -> None:
    index = place / "index"
    ended = diptych("add", index, place / "new.png", place / "note.txt", "--label", "mine", "--set", "year=2026")
    assert ended.status == 0 and "2 added: image:new.png, text:note.txt" in ended.err
    asked = "search", index, "--image", place / "new.png", "--in", "image", "--json"
    first = json.loads(diptych(*asked).out)["hits"][0]
    assert first["id"] == "image:new.png" and first["metadata"]["label"] == "mine" and first["metadata"]["year"] == 2026
    assert json.loads(diptych(*asked, "--where", "year > 2025").out)["hits"] == [first]
    ended = diptych("remove", index, "image:new.png", "image:new.png", "text:note.txt", "nobody")
    assert ended.status == 0 and "2 removed, 1 not there" in ended.err
    assert "image:new.png" not in diptych(*asked).out


def test_ids_are_given_kept_and_replaced(diptych, place) -> None:
    index = place / "index"
    assert diptych("add", index, "--text", "a red wall", "--id", "mine").status == 0
    again = diptych("add", index, "--text", "a red tile", "--id", "mine")
    assert again.status == 2 and "'mine' is already in the index" in again.err
    assert diptych("add", index, "--text", "a red tile", "--id", "mine", "--replace").status == 0
    with Searcher.open(index) as searcher:
        assert searcher.get("mine").metadata["text"] == "a red tile"
    assert "1 added: text:" in diptych("add", index, "--text", "a red tile").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to add"),
        (["gone.png"], "gone.png cannot be read"),
        (["gone.txt"], "gone.txt cannot be read"),
        (["--text", "red", "--text", "blue", "--id", "x"], "--id names one item"),
        (["--text", "red", "--set", "media=x"], "'media', which is set by the index"),
        (["--text", "zebra"], "none of the words"),
    ],
)
def test_mistakes_are_told(diptych, place, words, message) -> None:
    ended = diptych("add", place / "index", *words)
    assert ended.status == 2 and message in ended.err and "Traceback" not in ended.err
