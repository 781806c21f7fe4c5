"""The page of figures says what was measured, and nothing else."""

import json
from pathlib import Path

import pytest

from benchmarks import page


def test_the_page_in_the_docs_is_what_the_results_give():
    assert page.PAGE.read_text(encoding="utf-8") == page.render(), "run `python -m benchmarks.page`"


def test_an_aim_that_is_missed_is_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    machine = {"cpu": "C", "cores": 2, "python": "3", "system": "S"}
    figures = {"single_ratio_1000000": 0.895, "open_s_1000000": 1.5}
    (tmp_path / "index.json").write_text(json.dumps({"machine": machine, "figures": figures}))
    shown = page.render()
    assert "rate relative to bare faiss | ≥ 0.9 | 0.895 | **no** |" in shown
    assert "seconds | ≤ 2 | 1.5 | yes |" in shown
    assert "scikit-learn" not in shown.split("## index")[0]  # what was not measured is not claimed


@pytest.mark.parametrize("aim", page.AIMS, ids=lambda aim: f"{aim.benchmark}-{aim.key}")
def test_every_aim_is_of_a_benchmark_that_exists(aim):
    assert (Path(page.__file__).parent / f"bench_{aim.benchmark}.py").exists()
    assert (aim.least is None) != (aim.most is None)
    measured = page.RESULTS / f"{aim.benchmark}.json"
    if measured.exists():  # a figure that was renamed must not take its claim along
        assert aim.key in json.loads(measured.read_text())["figures"]
