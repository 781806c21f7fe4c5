import json

import pytest


@pytest.mark.usefixtures("fake_methods")
def test_the_demo_makes_a_dataset_and_a_report_and_goes_on(diptych, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKE_GO", "1")
    monkeypatch.setenv("FAKE_MENDED", "1")
    ended = diptych("demo", "--out", tmp_path)
    assert ended.status == 1  # two of the fakes always fail
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    assert results["dataset"]["name"] == "demo"
    assert set(results["failures"]) == {"crashing", "absent"}
    assert str(tmp_path / "report" / "report.html") in ended.err
    assert diptych("demo", "--out", tmp_path).err.count("kept from before") == 5


@pytest.mark.slow
def test_the_demo_works_with_the_real_methods(diptych, tmp_path, monkeypatch):
    monkeypatch.setenv("DIPTYCH_CACHE", str(tmp_path / "cache"))
    ended = diptych("demo", "--out", tmp_path)
    assert ended.status == 0, ended.err
    results = json.loads((tmp_path / "report" / "results.json").read_text())
    chance = results["chance"]["map"]
    assert results["methods"]["cca"]["average"]["map"] > 1.5 * chance
