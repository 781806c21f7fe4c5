import json

import numpy as np
import pytest

from diptych.methods import load_model, registry
from experiments import fakes
from experiments.naive import label_sets, naive_map
from two_spaces import ENTRY

pytestmark = pytest.mark.usefixtures("fake_methods")


@pytest.fixture
def model(diptych, tmp_path, gaps_dataset):
    """A model's folder, made by `diptych fit`."""
    folder = tmp_path / "model"
    ended = diptych("fit", gaps_dataset.path, "--method", "seeded", "--seed", 3, "--set", "ridge=2.0", "--out", folder)
    assert ended.status == 0, ended.err
    return folder


def embedded(diptych, model, dataset, modality, folder):
    path = folder / f"{modality}.npy"
    ended = diptych("embed", model, dataset.path, "--modality", modality, "--split", "test", "--out", path)
    assert ended.status == 0, ended.err
    return np.load(path, allow_pickle=False), json.loads(path.with_suffix(".ids.json").read_text())


def test_fit_obeys_its_options(model):
    body = json.loads((model / "model.json").read_text())
    assert body["method"] == "seeded"
    assert body["params"] == {"ridge": 2.0, "noise": 0.5, "seed": 3}


def test_fit_can_let_pairs_be_used(diptych, tmp_path, gaps_dataset):
    command = ["fit", gaps_dataset.path, "--method", "steady", "--out", tmp_path / "paired"]
    assert diptych(*command, "--unlabelled", "train", "--use-pairs").status == 0
    assert load_model(tmp_path / "paired").record_["protocol"]["use_pairs"] is True
    refused = diptych(*command, "--overwrite", "--unlabelled", "test-features", "--use-pairs")
    assert refused.status == 2
    assert "set unlabelled to 'train'" in refused.err


def test_fit_can_propagate_labels(diptych, tmp_path, gaps_dataset):
    command = ["fit", gaps_dataset.path, "--method", "steady", "--out", tmp_path / "m", "--labels-per-class", "3"]
    assert diptych(*command, "--propagate", "--withhold-validation").status == 0
    record = load_model(tmp_path / "m").record_
    assert record["propagation"]["given"] == 18 and record["propagation"]["propagated"] > 0
    assert record["protocol"]["withhold_validation"] is True


def test_evaluate_agrees_with_plain_loops_over_embed(diptych, tmp_path, gaps_dataset, model):
    block = json.loads(diptych("evaluate", model, gaps_dataset.path, "--split", "test", "--json").out)
    test = gaps_dataset.split("test")
    label_of = dict(zip(test.ids.tolist(), label_sets(test), strict=True))
    codes, labels = {}, {}
    for modality in ("image", "text"):
        codes[modality], ids = embedded(diptych, model, gaps_dataset, modality, tmp_path)
        assert codes[modality].dtype == np.float32
        assert ids == test.having(modality).ids.tolist()
        labels[modality] = [label_of[name] for name in ids]
    for a, b in (("image", "text"), ("text", "image")):
        for measure, k in (("map", None), ("map@50", 50)):
            expected = naive_map(codes[a], codes[b], labels[a], labels[b], k)
            assert block[f"{a}->{b}"][measure] == pytest.approx(expected, abs=1e-6)


def test_evaluate_prints_the_block_of_a_comparison(diptych, tmp_path, counts_dataset):
    compared = diptych("compare", counts_dataset.path, "--methods", "steady", "--out", tmp_path / "r", "--json")
    expected = json.loads(compared.out)["methods"]["steady"]
    ended = diptych("evaluate", tmp_path / "r" / "runs" / "steady" / "0" / "model", counts_dataset.path, "--json")
    assert ended.status == 0
    block = json.loads(ended.out)
    for name in set(expected) - {"runs", "deterministic"}:
        assert block[name] == expected[name], name


def test_evaluate_options_change_what_they_name(diptych, gaps_dataset, model):
    def block(*options):
        return json.loads(diptych("evaluate", model, gaps_dataset.path, "--json", *options).out)

    plain = block()
    assert block("--znorm", "eval-set")["average"]["map"] == plain["znorm"]["average"]["map"] != plain["average"]["map"]
    assert block("--znorm", "train")["normalisation"] == "train"
    divided = block("--ap-denominator", "R")
    assert divided["average"]["map@50"] < plain["average"]["map@50"]
    assert divided["average"]["map"] == pytest.approx(plain["average"]["map"])
    assert block("--relevance", "document")["relevance"] == "document"


def test_evaluate_shows_a_table(diptych, gaps_dataset, counts_dataset, model):
    ended = diptych("evaluate", model, gaps_dataset.path)
    assert "image->text" in ended.out
    assert "average" in ended.out
    other = diptych("evaluate", model, counts_dataset.path)
    assert "fitted on another dataset" in other.out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["fit", "{data}", "--method", "stedy", "--out", "{new}"], "did you mean 'steady'?"),
        (["fit", "{data}", "--method", "steady", "--set", "x=1", "--out", "{new}"], "has no parameter 'x'"),
        (["fit", "{data}", "--method", "absent", "--out", "{new}"], "diptych[deep]"),
        (["fit", "{data}", "--method", "failing", "--out", "{new}"], "is singular; choose a ridge."),
        (["fit", "{data}", "--method", "steady", "--out", "{model}"], "already exists"),
        (["fit", "{data}", "--method", "steady", "--out", "{data}", "--overwrite"], "is not a model"),
        (["evaluate", "{data}", "{data}"], "holds no model.json"),
        (["evaluate", "{model}", "{model}"], "holds no dataset.json"),
        (["embed", "{model}", "{data}", "--modality", "smell", "--out", "{new}.npy"], "there is no modality 'smell'"),
        (["embed", "{model}", "{data}", "--modality", "text", "--out", "{new}.txt"], "does not end in .npy"),
    ],
)
def test_mistakes_are_one_line_and_status_two(diptych, tmp_path, gaps_dataset, model, command, words):
    places = {"data": gaps_dataset.path, "model": model, "new": tmp_path / "new"}
    ended = diptych(*(word.format(**places) for word in command))
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert words in ended.err
    assert not (tmp_path / "new").exists()


def test_methods_are_listed(diptych):
    ended = diptych("methods")
    assert ended.status == 0
    assert "steady" in ended.out
    rows = {row["name"]: row for row in json.loads(diptych("methods", "--json").out)}
    assert rows["seeded"]["stochastic"]
    assert rows["steady"]["params"] == {"ridge": 1.0}
    assert "diptych[deep]" in rows["absent"]["problem"]


def test_the_version_is_shown(diptych):
    ended = diptych("--version")
    assert (ended.status, ended.out.split()[0]) == (0, "diptych")


def test_evaluate_measures_in_the_space_that_is_asked_for(diptych, tmp_path, gaps_dataset, monkeypatch):
    monkeypatch.setattr(registry, "_METHODS", {**fakes.METHODS, "two-spaces": ENTRY})
    folder = tmp_path / "two"
    assert diptych("fit", gaps_dataset.path, "--method", "two-spaces", "--out", folder).status == 0

    def block(*options):
        return json.loads(diptych("evaluate", folder, gaps_dataset.path, "--json", *options).out)

    def mrr(found):
        return found["instance"]["average"]["mean_reciprocal_rank"]

    usual, by_class, by_partner = block(), block("--purpose", "class"), block("--purpose", "partner")
    assert (usual["purpose"], usual["instance_purpose"]) == ("class", "partner")
    assert usual["average"]["map"] == by_class["average"]["map"] != by_partner["average"]["map"]
    assert mrr(usual) == mrr(by_partner) != mrr(by_class)
    table = diptych("evaluate", folder, gaps_dataset.path).out
    assert "MAP is measured in the class space, MRR and R@k in the partner space" in " ".join(table.split())
    assert f"{mrr(usual):.3f}" in table
    refused = diptych("evaluate", folder, gaps_dataset.path, "--purpose", "neither")
    assert refused.status == 2


def test_a_purpose_is_refused_where_there_is_one_space(diptych, gaps_dataset, model):
    ended = diptych("evaluate", model, gaps_dataset.path, "--purpose", "partner")
    assert ended.status == 2
    assert "'seeded' has a single space" in ended.err
