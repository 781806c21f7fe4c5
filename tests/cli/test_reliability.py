"""`diptych reliability` tells what was measured when the index was built."""

import json

import pytest
from PIL import Image

from diptych._core.files import read_json, write_json
from diptych.search import build_index
from search.gallery import make


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    build_index(folder / "model", make(folder, components=4), folder / "index", projection="none")
    return folder / "index"


def test_it_prints_the_errors_and_draws_the_curves(diptych, index, tmp_path):
    known = read_json(index / "calibration.json")
    assert json.loads(diptych("reliability", index, "--json").out) == known
    shown = diptych("reliability", index, "--plot", tmp_path / "curves.png")
    assert shown.status == 0 and "curves.png" in shown.err
    for direction in known["directions"]:
        (row,) = [
            line for line in shown.out.splitlines() if f"│ {direction['query']} → {direction['gallery']} " in line
        ]
        for key in ("all_pairs", "top_10"):
            assert f"{direction['test'][key]['error']:.3f}" in row
    with Image.open(tmp_path / "curves.png") as drawn:
        assert drawn.size[0] > 600 and drawn.convert("L").getextrema()[0] < 50


def test_the_drawing_is_the_same_to_the_byte(diptych, index, tmp_path):
    for name in ("one.svg", "two.svg"):
        assert diptych("reliability", index, "--plot", tmp_path / name).status == 0
    drawn = (tmp_path / "one.svg").read_bytes()
    assert drawn == (tmp_path / "two.svg").read_bytes() and drawn.startswith(b"<?xml")


def test_mistakes_are_one_line(diptych, index, tmp_path):
    wrong = diptych("reliability", index, "--plot", tmp_path / "curves.gif")
    assert wrong.status == 2 and "drawings are written as .svg or .png" in wrong.err
    assert list(tmp_path.iterdir()) == []
    write_json(tmp_path / "calibration.json", {"relevance": "label", "directions": []})
    nothing = diptych("reliability", tmp_path)
    assert nothing.status == 2 and "holds no measured probabilities" in nothing.err
