"""Every rule on the set it is written for: enough answers, and not too many."""

import json
from pathlib import Path

import pytest
from benchmarks.quality import page
from benchmarks.quality.npm import UnavailableError, unpacked
from benchmarks.quality.sets import RSICD, SETS

KEPT = Path(__file__).parents[2] / "runs" / "quality"


@pytest.mark.real_data
@pytest.mark.parametrize("name", SETS)
def test_every_rule_has_three_answers_and_none_has_a_third_of_the_set(name, tmp_path):
    if name == "rsicd" and not RSICD.exists():
        pytest.skip(f"RSICD is not in {RSICD}")
    if name != "rsicd" and not (KEPT / name / "pairs.jsonl").exists():
        pytest.skip(f"the set {name} has not been made in {KEPT}; `make quality` makes it")
    searched = SETS[name](tmp_path if name == "rsicd" else KEPT)
    items = list(searched.fields.values())
    for query in searched.queries:
        grades = query.grades(items)
        answers = len(items) - grades.count(0)
        if query.absent:
            assert answers == 0, query.text
        else:
            assert grades.count(3) >= 1, query.text
            assert 3 <= answers <= len(items) / 3, query.text


def test_without_npm_a_set_is_unavailable_and_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(UnavailableError, match="npm is not installed"):
        unpacked("emojilib@4.0.3", tmp_path)


def test_what_was_unpacked_is_not_fetched_again(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    (tmp_path / "tabler-icons@3.51.0").mkdir()
    assert unpacked("@tabler/icons@3.51.0", tmp_path) == tmp_path / "tabler-icons@3.51.0"


def test_the_page_in_the_docs_is_what_the_results_give():
    if not page.RESULTS.exists():
        pytest.skip("search quality has not been measured")
    measured = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    assert page.PAGE.read_text(encoding="utf-8") == page.render(measured), "run `python -m benchmarks.quality.page`"


def test_a_gain_is_bold_only_above_its_interval():
    gain = {"over": "vector", "difference": 0.02, "difference_ci95": [0.001, 0.04]}
    assert page.shown_gain(gain) == "**+0.020 (+0.001 to +0.040) over vector**"
    assert "**" not in page.shown_gain({**gain, "difference_ci95": [-0.001, 0.04]})
