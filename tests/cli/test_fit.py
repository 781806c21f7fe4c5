"""`diptych fit`: what it uses by default, what it says, and how it stops."""

import json
import re

import numpy as np
import pytest

import synthetic
from diptych._core.errors import FitError
from diptych.cli.method_commands import show_fit_seconds
from diptych.methods import load_model, registry
from diptych.methods.auto import Auto
from experiments import fakes


@pytest.fixture
def unlabelled(tmp_path):
    base = synthetic.draft()
    return synthetic.write(tmp_path / "bare", synthetic.replace(base, labels=[None] * len(base.ids), classes=()))


def test_by_default_the_method_is_chosen_and_one_line_says_why(diptych, tmp_path, unlabelled):
    ended = diptych("fit", unlabelled.path, "--out", tmp_path / "model")
    assert ended.status == 0, ended.err
    chosen, fitted = ended.err.splitlines()
    assert re.match(
        r"auto chose cdmlmr \(the partner space alone\); 96 pairs and no labels; on validation MRR 0", chosen
    )
    assert re.match(r"cdmlmr fitted in [\d.]+ s; model: ", fitted)
    body = json.loads((tmp_path / "model" / "model.json").read_text())
    assert body["method"] == "cdmlmr"
    assert load_model(tmp_path / "model").record_["auto"]["chosen"] == "cdmlmr"


@pytest.mark.parametrize(("options", "propagated"), [([], True), (["--propagate"], True), (["--no-propagate"], False)])
def test_labels_are_propagated_unless_a_person_says_no(
    diptych, tmp_path, gaps_dataset, monkeypatch, options, propagated
):
    seen = []

    def stop(self, data, progress):
        seen.append(data.soft_labels is not None)
        raise FitError("seen")

    monkeypatch.setattr(Auto, "_fit", stop)
    assert diptych("fit", gaps_dataset.path, "--out", tmp_path / "m", *options).err == "error: seen\n"
    assert seen == [propagated]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("cdmlmr", "stopped; what was trained so far is kept; run the same command to continue."),
        ("cca", "stopped; nothing was kept; run the same command to start again."),
    ],
)
def test_ctrl_c_is_one_line_and_status_130(diptych, tmp_path, counts_dataset, monkeypatch, method, words):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("diptych.experiments.fit_one", interrupted)
    ended = diptych("fit", counts_dataset.path, "--method", method, "--out", tmp_path / "model")
    assert ended.status == 130
    assert ended.err == words + "\n"
    assert not (tmp_path / "model").exists()


def test_a_network_that_is_not_cached_keeps_nothing(diptych, tmp_path, counts_dataset, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("diptych.experiments.fit_one", interrupted)
    ended = diptych("fit", counts_dataset.path, "--set", "cache=null", "--out", tmp_path / "model")
    assert (ended.status, ended.err) == (130, "stopped; nothing was kept; run the same command to start again.\n")


def test_what_came_from_the_cache_is_said_and_not_counted():
    assert show_fit_seconds({"fit_seconds": 17.0, "reused_seconds": 11.0}) == ("6.0 s (saved 11 s by the cache)")
    assert show_fit_seconds({"fit_seconds": 17.0}) == "17 s"


def test_few_validation_labels_are_said_to_choose_nothing(diptych, tmp_path):
    base = synthetic.draft()
    kept = np.arange(len(base.ids)) % 8 == 0
    labels = [label if keep else None for label, keep in zip(base.labels, kept, strict=True)]
    dataset = synthetic.write(tmp_path / "few", synthetic.replace(base, labels=labels))
    ended = diptych("fit", dataset.path, "--method", "cca", "--out", tmp_path / "model")
    assert re.match(r"Only 5 of 40 validation items have a label, so settings were chosen by ", ended.err)


def test_one_class_is_no_class(diptych, tmp_path):
    base = synthetic.draft()
    dataset = synthetic.write(
        tmp_path / "one", synthetic.replace(base, labels=["art"] * len(base.ids), classes=("art",))
    )
    refused = diptych("fit", dataset.path, "--method", "sm", "--out", tmp_path / "sm")
    assert refused.status == 2
    assert "every training label is 'art'" in refused.err and "such as 'auto'" in refused.err
    chosen = diptych("fit", dataset.path, "--out", tmp_path / "auto")
    assert chosen.status == 0
    assert "96 pairs and no labels" in chosen.err and "every training label is 'art', and one class tells" in chosen.err


def test_methods_begin_with_the_default_and_with_features_as_they_are(diptych):
    rows = json.loads(diptych("methods", "--json").out)
    assert [row["name"] for row in rows[:3]] == ["auto", "identity", "chance"]
    assert rows[1]["uses"] == "nothing"
    assert "suits the data" in rows[0]["summary"] and "share a space" in rows[1]["summary"]


def test_a_fake_that_is_not_torch_needs_no_cache_to_stop(diptych, tmp_path, counts_dataset, monkeypatch):
    """A method without a parameter of that name keeps nothing either."""
    monkeypatch.setattr(registry, "_METHODS", fakes.METHODS)
    monkeypatch.setattr(fakes.Fake, "_fit", lambda self, data, progress: (_ for _ in ()).throw(KeyboardInterrupt))
    ended = diptych("fit", counts_dataset.path, "--method", "steady", "--out", tmp_path / "model")
    assert (ended.status, ended.err) == (130, "stopped; nothing was kept; run the same command to start again.\n")
