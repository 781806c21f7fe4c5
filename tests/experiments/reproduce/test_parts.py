"""A study whose items are described in several ways: every description is run, and all stand on one page."""

import json
import re
from dataclasses import replace

import pytest

import synthetic
from diptych._core.errors import ConfigError, DataError
from diptych.data import write_dataset
from diptych.experiments import Callbacks, reproduce_study
from diptych.experiments.reproduce import preparation, render_appendix, render_page
from diptych.experiments.reproduce.studies import STUDIES
from diptych.experiments.run_store import read_scores
from experiments.fakes import fits

HAND, CONVOLUTIONAL = (part.name for part in STUDIES["rsicd"].parts)
METHODS = ("kcca-rbf", "kcca-poly", "cdmlmr")


@pytest.fixture
def described(tmp_path):
    """A dataset for each description."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name, seed in ((HAND, 0), (CONVOLUTIONAL, 1)):
        synthetic.write(folder / name, synthetic.draft(("image", "text"), seed=seed))
    return folder


@pytest.fixture
def done(described, tmp_path):
    return reproduce_study("rsicd", tmp_path / "out", data=described, seeds=(0, 1), methods=METHODS)


def test_every_description_is_compared_and_kept_in_a_folder_of_its_own(done, tmp_path):
    out = tmp_path / "out"
    assert json.loads((out / "reproduction.json").read_text()) == done
    assert list(done["parts"]) == [HAND, CONVOLUTIONAL]
    fingerprints = set()
    for name, part in done["parts"].items():
        results = json.loads((out / name / "inductive" / "results.json").read_text())
        fingerprints.add(results["dataset"]["fingerprint"])
        assert part["dataset"]["fingerprint"] == results["dataset"]["fingerprint"]
        found = part["protocols"]["inductive"]["methods"]["kcca-rbf"]["plain"]["average"]["map"]
        runs = [read_scores(out / name / "inductive" / "runs" / "kcca-rbf" / str(seed)).directions for seed in (0, 1)]
        scores = [run[direction].mean("map") for run in runs for direction in part["directions"]]
        assert found == pytest.approx(sum(scores) / 4)
    assert len(fingerprints) == 2


def test_the_page_shows_them_side_by_side_and_then_each(done, tmp_path):
    page = (tmp_path / "out" / "reproduction.md").read_text()
    assert page == render_page(done)
    assert re.findall(r"^# .*", page, re.MULTILINE) == ["# RSICD: the CDMLMR paper reproduced"]
    sections = re.findall(r"^## (.*)", page, re.MULTILINE)
    title = "MAP over all results, average of both directions, plain cosine, transductive"
    assert sections == ["Findings", title, "How to reproduce"]
    for claim in next(iter(done["parts"].values()))["claims"]:
        assert f"| {claim['claim']} |" in page
    assert "](reproduction-appendix.md)" in page
    appendix = (tmp_path / "out" / "reproduction-appendix.md").read_text()
    assert appendix == render_appendix(done)
    sections = re.findall(r"^## (.*)", appendix, re.MULTILINE)
    assert sections == ["Side by side", "Hand-crafted features", "Convolutional features"]
    table = appendix.split("### MAP over all results, average of both directions, plain cosine, inductive")[1]
    (row,) = re.findall(r"^\| KCCA \(RBF\).*", table.split("###")[0], re.MULTILINE)
    for part, cell in zip(done["parts"].values(), row.split("|")[2:4], strict=True):
        scores = part["protocols"]["inductive"]["methods"]["kcca-rbf"]["plain"]["average"]
        assert cell.strip().startswith(f"{scores['map']:.3f} ± {scores['map_std']:.3f}")
    assert row.split("|")[4].strip() == "0.223"  # published on NUS-WIDE-10k
    assert "published on NUS-WIDE-10k" in page
    assert str(tmp_path) not in page + appendix


def test_no_claim_is_judged_by_figures_of_another_dataset(done):
    keys = {claim["key"] for part in done["parts"].values() for claim in part["claims"]}
    assert "kernel" in keys and "figures" not in keys and "cca-at-chance" not in keys


def test_runs_are_told_apart_by_their_description(described, tmp_path):
    class Diary(Callbacks):
        def __init__(self):
            self.announced, self.seen = [], []

        def planned(self, runs):
            self.announced += [run.name for run in runs]

        def finished(self, run, average_map, seconds):
            self.seen.append(run.name)

    diary = Diary()
    reproduce_study("rsicd", tmp_path / "o", data=described, seeds=(0,), methods=("cdmlmr",), callbacks=diary)
    assert diary.announced == [
        f"cdmlmr seed 0, {HAND}",
        f"cdmlmr seed 0, {HAND}, transductive",
        f"cdmlmr seed 0, {CONVOLUTIONAL}",
        f"cdmlmr seed 0, {CONVOLUTIONAL}, transductive",
    ]
    assert diary.seen == diary.announced


def test_given_parameters_reach_the_methods_and_the_command(described, tmp_path):
    params = {"cdmlmr": {"noise": 0.25}}
    note = "The noise is that of the first seed."
    found = reproduce_study("rsicd", tmp_path, data=described, seeds=(0,), methods=METHODS, params=params, note=note)
    assert f"```\n\n{note}\n" in (tmp_path / "reproduction.md").read_text()
    assert found["command"].endswith("--methods kcca-rbf,kcca-poly,cdmlmr --set cdmlmr.noise=0.25")
    for part, protocol in ((HAND, "inductive"), (CONVOLUTIONAL, "transductive")):
        results = json.loads((tmp_path / part / protocol / "results.json").read_text())
        assert results["methods"]["cdmlmr"]["params"]["noise"] == 0.25
    with pytest.raises(ConfigError, match="a parameter is given for 'steady', which does not run"):
        reproduce_study("rsicd", tmp_path, data=described, methods=METHODS, params={"steady": {"noise": 1}})


def test_released_files_are_described_once_for_each_part(described, tmp_path, monkeypatch, log):
    asked = []

    def describe(folder, out, *, workers, progress, overwrite, **options):
        asked.append((folder.name, options))
        progress("image features", 3, 7)
        drawn = replace(synthetic.draft(("image", "text")), source={"pairs": str(folder / "pairs.jsonl")})
        return write_dataset(out, drawn, overwrite=overwrite)

    monkeypatch.setattr(preparation, "import_rsicd", describe)
    release, out = tmp_path / "release", tmp_path / "out"
    release.mkdir()
    told = []
    callbacks = Callbacks()
    callbacks.preparing = lambda stage, done, total, figures=None: told.append((stage, done, total))
    first = reproduce_study("rsicd", out, data=release, seeds=(0,), methods=("steady",), callbacks=callbacks)
    assert told == [("image features", 3, 7)] * 2
    again = reproduce_study("rsicd", out, data=release, seeds=(0,), methods=("steady",))
    without = reproduce_study("rsicd", out, seeds=(0,), methods=("steady",))
    assert first == again == without
    assert asked == [("release", dict(part.options)) for part in STUDIES["rsicd"].parts]
    assert fits(log) == ["steady", "steady"]
    (tmp_path / "other").mkdir()
    reproduce_study("rsicd", out, data=tmp_path / "other", seeds=(0,), methods=("steady",))
    assert [name for name, _ in asked] == ["release"] * 2 + ["other"] * 2


def test_without_data_it_says_where_to_get_them(tmp_path):
    with pytest.raises(ConfigError, match=r"RSICD are not given: get the images .*--data FOLDER"):
        reproduce_study("rsicd", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds neither dataset_rsicd\.json nor pairs\.jsonl"):
        reproduce_study("rsicd", tmp_path / "out", data=tmp_path / "empty")
