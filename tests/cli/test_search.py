"""`diptych search`."""

import io
import json

import pytest
from PIL import Image
from rich.console import Console

from diptych._core.errors import ConfigError
from diptych.cli.search_command import half_blocks, hit_table, query_parts, shows_images, split_weight
from diptych.search import Hit, build_index
from search.gallery import make, png


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    build_index(folder / "model", make(folder, components=4), folder / "index", projection="none")
    (folder / "new.png").write_bytes(png("blue", "new"))
    return folder


def hits(ended):
    assert ended.status == 0, ended.err
    return json.loads(ended.out)["hits"]


def test_words_find_pictures(diptych, place) -> None:
    ended = diptych("search", place / "index", "--text", "a green wall", "--in", "image", "--top", 5)
    assert ended.status == 0, ended.err
    assert ended.out.count("image:green-") == 5 and "a green wall in the light" in ended.out and "%" in ended.out
    assert "5 found in" in ended.err


def test_json_holds_everything(diptych, place) -> None:
    found = hits(diptych("search", place / "index", "--image", place / "new.png", "--in", "text", "--json"))
    assert len(found) == 10
    assert {hit["metadata"]["label"] for hit in found} == {"blue"}
    assert set(found[0]) == {"id", "modality", "score", "probability", "metadata", "item", "entries", "why"}
    assert found[0]["score"] >= found[-1]["score"] and 0 < found[0]["probability"] <= 1


def test_weights_filters_and_pages(diptych, place) -> None:
    red = hits(diptych("search", place / "index", "--text", "red^2", "--text", "green^-0.5", "--in", "image", "--json"))
    assert {hit["metadata"]["label"] for hit in red} == {"red"}
    where = "label = 'grey' and split = 'test'"
    grey = hits(diptych("search", place / "index", "-t", "red", "--where", where, "--json"))
    assert len(grey) == 4
    later = hits(diptych("search", place / "index", "-t", "red", "--where", where, "--offset", 3, "--json"))
    assert later == grey[3:]


def test_more_like_this_leaves_it_out(diptych, place) -> None:
    found = hits(diptych("search", place / "index", "--like", "image:red-01", "--in", "image", "--json"))
    assert "image:red-01" not in {hit["id"] for hit in found} and len(found) == 10


def test_a_condition_that_no_item_meets_is_named(diptych, place) -> None:
    ended = diptych("search", place / "index", "-t", "red", "--where", "label = 'pink'")
    assert ended.status == 0 and "no item meets the condition label = 'pink'." in ended.out


def test_nothing_matches_is_said(diptych, place) -> None:
    asked = "search", place / "index", "-t", "red^1", "-t", "green", "-t", "blue", "--min-probability", 1
    ended = diptych(*asked)
    assert ended.status == 0 and "nothing matches: the closest is relevant with a probability of" in ended.out
    assert json.loads(diptych(*asked, "--json").out)["hits"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to search for"),
        (["--text", "red^abc"], "after ^ comes a number"),
        (["red", "--where", "colour = 'red'"], "no item has the key 'colour'; conditions can be on document, id, item"),
        (["red", "--mode", "psychic"], "psychic"),
        (["--text", "red", "--in", "sound"], "no modality 'sound'"),
        (["--text", "red", "--where", "label ="], ""),
        (["--image", "gone.png"], "gone.png cannot be read"),
        (["--like", "nobody"], "no item 'nobody'"),
        (["--text", "red", "--min-probability", "2"], "between 0 and 1"),
    ],
)
def test_mistakes_are_told(diptych, place, words, message) -> None:
    ended = diptych("search", place / "index", *words)
    assert ended.status == 2 and message in ended.err and "Traceback" not in ended.err


def test_plain_words_find_items_and_say_why(diptych, place) -> None:
    ended = diptych("search", place / "index", "green", "wall", "--top", 3)
    assert ended.status == 0 and "green, wall" in ended.out and "3 of 80 found" in ended.err
    answer = json.loads(diptych("search", place / "index", "green wall", "--top", 3, "--json").out)
    assert answer["mode"] == "hybrid" and answer["total"] == 80 and answer["did_you_mean"] is None
    assert answer["hits"][0]["entries"].keys() == {"image", "text"} and answer["hits"][0]["why"]["words"]
    lexical = json.loads(diptych("search", place / "index", "wall", "--mode", "lexical", "-k", 80, "--json").out)
    assert lexical["mode"] == "lexical" and len(lexical["hits"]) == 20


def test_misspelled_and_unknown_words_are_told(diptych, place) -> None:
    misspelled = diptych("search", place / "index", "gren wall")
    assert misspelled.status == 0 and "did you mean: green wall" in misspelled.out
    unknown = diptych("search", place / "index", "zebra")
    assert unknown.status == 0 and "ignored: zebra" in unknown.out and "Nothing is close enough." in unknown.out


def test_what_is_no_index_is_told(diptych, tmp_path) -> None:
    ended = diptych("search", tmp_path, "--text", "x")
    assert ended.status == 2 and "is no index; run `diptych index" in ended.err


def test_weights_are_read() -> None:
    assert split_weight("snow") == ("snow", 1.0)
    assert split_weight("snow^.5") == ("snow", 0.5) and split_weight("a^b^1") == ("a^b", 1.0)
    for wrong in ("mug^abc", "mug^", "mug^2x"):
        with pytest.raises(ConfigError, match=r"after \^ comes a number, such as mug\^2"):
            split_weight(wrong)
    assert split_weight("e = mc^2^1") == ("e = mc^2", 1.0) and split_weight("snow^+3") == ("snow", 3.0)
    parts = query_parts(["snow^2"], ["beach.jpg^-0.5"], ["image:7"])
    assert [(part.kind, part.weight) for part in parts] == [("text", 2.0), ("image", -0.5), ("item", 1.0)]


def test_thumbnails_are_drawn_in_half_blocks() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), (255, 0, 0)).save(buffer, "PNG")
    console = Console(
        force_terminal=True, color_system="truecolor", width=120, file=io.StringIO(), legacy_windows=False
    )
    assert shows_images(console) and not shows_images(Console(file=io.StringIO()))
    console.print(half_blocks(buffer.getvalue(), 4, 2))
    drawn = console.file.getvalue()
    assert drawn.count("▀") == 8 and "38;2;255;0;0" in drawn and "48;2;255;0;0" in drawn
    hit = Hit("image:[bold]1", "image", 0.5, None, {"text": "[red]words", "label": ["a", "b"]})
    console.print(hit_table([hit], lambda id: buffer.getvalue()))
    table = console.file.getvalue()
    assert "image:[bold]1" in table and "[red]words" in table and "a, b" in table and table.count("▀") > 8
    console.print(hit_table([hit], lambda id: None))
