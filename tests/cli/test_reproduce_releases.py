"""`diptych reproduce` from the files of the releases to the page, on imitations of them."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from diptych.data import Dataset
from diptych.data.importers import IMPORTERS, import_nuswide10k
from diptych.data.importers.nuswide10k import BLOCKS
from diptych.experiments.reproduce.preparation import Sizes, run_seconds
from diptych.experiments.reproduce.studies import LINEUP, STUDIES, row_of
from diptych.methods.registry import comparable_names
from ingest.imitations import write_wikipedia

CONCEPTS = 10


def write_nuswide(folder, per_class=14):
    """The official files with their real widths: ten concepts whose items have a column of their own in every block."""
    draw = np.random.default_rng(0)
    for part in ("Train", "Test"):
        concept_of = np.tile(np.arange(CONCEPTS), per_class // 2)
        for concept in range(CONCEPTS):
            lines = "".join(f"{int(each == concept)}\n" for each in concept_of)
            path = folder / "TrainTestLabels" / f"Labels_concept{concept}_{part}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(lines)
        for block, width in {**BLOCKS, "Tags1k": 1000}.items():
            values = draw.integers(0, 2, size=(len(concept_of), width))
            values[np.arange(len(concept_of)), concept_of] = 9
            names = {"BoW": f"BoW_{part}_int.dat", "Tags1k": f"{part}_Tags1k.dat"}
            path = folder / "features" / names.get(block, f"{part}_Normalized_{block}.dat")
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(" ".join(map(str, row)) + "\n" for row in values))
    return folder


@pytest.fixture
def nuswide(tmp_path, monkeypatch):
    monkeypatch.setitem(IMPORTERS, "nuswide10k", partial(import_nuswide10k, per_class=14))
    return write_nuswide(tmp_path / "nus")


def test_nuswide10k_from_the_official_files_to_the_page(diptych, tmp_path, nuswide) -> None:
    out = tmp_path / "r"
    options = ["--data", nuswide, "--methods", "cca-paper,cfa,jrl,lgcfl,chance", "--seeds", "0,1", "--out", out]
    ended = diptych("reproduce", "nuswide10k", *options)
    assert ended.status == 0, ended.err
    first, *rest = ended.err.splitlines()
    assert first.startswith("plan of NUS-WIDE-10k: 7 runs of 5 methods; about ")
    assert first.endswith("continue with the same command.") and "[7/7]" in "".join(rest)
    dataset = Dataset.open(out / "dataset")
    assert (dataset.modalities["image"].dimension, dataset.modalities["text"].dimension) == (1134, 1000)
    content = json.loads((out / "reproduction.json").read_text())
    found = content["protocols"]["inductive"]["methods"]
    assert found["lgcfl"]["plain"]["average"]["map"] > found["chance"]["plain"]["average"]["map"] + 0.3
    assert "120 train items for 8,000" in content["inputs"]["words"]
    again = diptych("reproduce", "nuswide10k", *options)
    assert again.err.count("kept from before") == 7 and "7 of them already done" in again.err.splitlines()[0]


@pytest.fixture
def wikipedia(tmp_path, monkeypatch):
    small = {"image": "colour-histogram", "text": "bow:60"}
    monkeypatch.setitem(STUDIES, "wikipedia", replace(STUDIES["wikipedia"], raw_features=small))
    return write_wikipedia(tmp_path / "wiki", train=40, test=30, side=64)  # enough descriptors for 1,000 words


def test_wikipedia_from_images_and_articles_to_the_page(diptych, tmp_path, wikipedia) -> None:
    out = tmp_path / "r"
    options = ["--raw", wikipedia, "--methods", "cfa,sm,chance", "--seeds", "0,1", "--out", out]
    ended = diptych("reproduce", "wikipedia", *options)
    assert ended.status == 0, ended.err
    plan = ended.err.splitlines()[0]
    assert plan.startswith("plan of Wikipedia: 4 runs of 3 methods; first reading the files, about 3 min; about ")
    content = json.loads((out / "reproduction.json").read_text())
    assert content["command"].startswith("diptych reproduce wikipedia --raw FOLDER --out REPORT")
    made = (out / "dataset" / "dataset.json").stat().st_mtime_ns
    again = diptych("reproduce", "wikipedia", *options)
    assert again.err.count("kept from before") == 4 and "reading the files" not in again.err
    without = diptych("reproduce", "wikipedia", *options[2:])
    assert without.err.count("kept from before") == 4
    assert (out / "dataset" / "dataset.json").stat().st_mtime_ns == made  # images are not described twice


def test_an_interrupted_description_goes_on(diptych, tmp_path, wikipedia, monkeypatch) -> None:
    from diptych.ingest import run

    honest = run.write_draft

    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    out = tmp_path / "r"
    options = ["--raw", wikipedia, "--methods", "cfa", "--seeds", "0", "--out", out]
    monkeypatch.setattr(run, "write_draft", stopped)
    assert diptych("reproduce", "wikipedia", *options).status == 130
    monkeypatch.setattr(run, "write_draft", honest)
    assert diptych("reproduce", "wikipedia", *options).status == 0


@pytest.mark.slow
def test_the_papers_features_have_the_papers_dimensions(diptych, tmp_path) -> None:
    release = write_wikipedia(tmp_path / "wiki", train=40, test=30, side=64)  # enough descriptors for 1,000 words
    options = ["--raw", release, "--methods", "cfa", "--seeds", "0", "--out", tmp_path / "r"]
    assert diptych("reproduce", "wikipedia", *options).status == 0
    assert Dataset.open(tmp_path / "r" / "dataset").modalities["image"].dimension == 2296


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nuswide10k", "--raw", "{wiki}"], "--raw is for studies whose images and texts are described here"),
        (["wikipedia", "--raw", "{wiki}", "--data", "{wiki}"], "--raw and --data are both given"),
        (["wikipedia", "--raw", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_mistakes_with_raw_files_are_told(diptych, tmp_path, wikipedia, words, message) -> None:
    given = [word.format(wiki=wikipedia) for word in words]
    ended = diptych("reproduce", *given, "--methods", "cfa", "--out", tmp_path / "r")
    assert ended.status == 2 and message in ended.err and not (tmp_path / "r").exists()


def test_the_systems_that_came_later_have_rows_too() -> None:
    assert {"lgcfl", "tina", "triplet", "deep-corr"} <= {row.method for row in LINEUP} & set(comparable_names())


def test_estimates_grow_with_what_they_depend_on() -> None:
    small, large = Sizes(2_000, 500), Sizes(8_000, 3_000)
    for method in ("cca", "kcca-rbf", "tina"):
        times = [run_seconds(method, row_of(method).deep, s.pairs, s.columns, "standard") for s in (small, large)]
        assert times[0] < times[1]
    assert run_seconds("cmdn", True, 2_000, 500, "fast") < run_seconds("cmdn", True, 2_000, 500, "paper")
    assert Sizes.expected(STUDIES["nuswide10k"], None, raw=False) == Sizes(8_000, 2_134, 0.5)
