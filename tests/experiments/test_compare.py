import fcntl
import json
import platform

import numpy as np
import pytest

import synthetic
from diptych._core.errors import ConfigError, DataError
from diptych.data import ModalityRows, Protocol
from diptych.experiments import Callbacks, Recipe, compare_methods, evaluate_model, label_curve
from diptych.experiments import run_store as run_store_module
from diptych.methods import registry
from diptych.methods.model_folder import load_model
from diptych.methods.registry import Entry
from experiments import fakes
from experiments.fakes import fits


@pytest.fixture
def both():
    """A method that no seed changes and one under three seeds."""
    return Recipe(methods=("steady", "seeded"), seeds=(0, 1, 2))


class Diary(Callbacks):
    """Writes down what it is told."""

    def __init__(self):
        self.events = []

    def started(self, run, because):
        self.events.append(("started", run.name, because))

    def finished(self, run, average_map, seconds):
        self.events.append(("finished", run.name))

    def kept(self, run, average_map):
        self.events.append(("kept", run.name))

    def failed(self, run, reason):
        self.events.append(("failed", run.name, reason))


def test_results_have_the_promised_shape(both, tmp_path, counts_dataset):
    results = compare_methods(counts_dataset, both, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text()) == results
    page = (tmp_path / "results.md").read_text()
    for name, block in results["methods"].items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert f"{block['average']['map']:.3f}" in row and f"{block['znorm']['average']['map']:.3f}" in row
    assert results["dataset"]["name"] == "synthetic"
    assert results["dataset"]["fingerprint"] == counts_dataset.fingerprint
    assert results["split"] == "test"
    assert 0 < results["chance"]["map"] < results["chance"]["map@50"] < 1
    assert results["protocol"]["words"].startswith("all training pairs, all training labels")
    assert results["failures"] == {}
    assert results["pending"] == []
    assert list(results["methods"]) == ["steady", "seeded"]
    for name, block in results["methods"].items():
        assert block["seeds"] == [0, 1, 2]
        assert block["params"]["ridge"] == 1.0
        assert block["chosen"] == {"ridge": 1.0}
        assert block["saw"] == "pairs + labels"
        assert block["fit_seconds"] >= 0
        for scores in (block, block["znorm"]):
            for column in ("image->text", "text->image", "average"):
                low, high = scores[column]["map_ci95"]
                assert low < scores[column]["map"] < high
                assert 0 < scores[column]["map@50"] <= 1
        assert block["average"]["map"] == pytest.approx((block["image->text"]["map"] + block["text->image"]["map"]) / 2)
        assert {"R@1", "R@5", "R@10", "median_rank"} <= set(block["instance"]["text->image"])
        assert (block["average"]["map_std_over_seeds"] == 0) == (name == "steady")
    assert "python" in results["environment"]["versions"]
    assert platform.node() not in json.dumps(results["environment"])
    assert results["comparisons"]["best"] in results["methods"]
    assert len(results["comparisons"]["against_best"]) == 1


def test_seeds_are_averaged_and_their_spread_is_that_of_the_runs(both, tmp_path, counts_dataset):
    results = compare_methods(counts_dataset, both, tmp_path)
    block = results["methods"]["seeded"]
    averages = [run["average_map"] for run in block["runs"]]
    for run, average in zip(block["runs"], averages, strict=True):
        model = load_model(tmp_path / run["folder"] / "model")
        assert model.get_params()["seed"] == run["seed"]
        assert evaluate_model(model, counts_dataset).average_map == pytest.approx(average, abs=1e-12)
    assert len(set(averages)) == 3
    assert block["average"]["map"] == pytest.approx(np.mean(averages))
    assert block["average"]["map_std_over_seeds"] == pytest.approx(np.std(averages, ddof=1))


def test_what_is_finished_is_not_fitted_again(both, tmp_path, counts_dataset, log):
    first = compare_methods(counts_dataset, both, tmp_path)
    assert fits(log) == ["steady", "seeded0", "seeded1", "seeded2"]
    diary = Diary()
    second = compare_methods(counts_dataset, both, tmp_path, callbacks=diary)
    assert len(fits(log)) == 4
    assert {event[0] for event in diary.events} == {"kept"}
    assert second == first


def test_a_new_seed_is_added_to_the_old_ones(tmp_path, counts_dataset, log):
    compare_methods(counts_dataset, Recipe(methods=("steady", "seeded"), seeds=(1,)), tmp_path)
    compare_methods(counts_dataset, Recipe(methods=("steady", "seeded"), seeds=(1, 4)), tmp_path)
    assert fits(log) == ["steady", "seeded1", "seeded4"]


def test_fresh_fits_again(tmp_path, counts_dataset, log):
    recipe = Recipe(methods=("steady",))
    compare_methods(counts_dataset, recipe, tmp_path)
    compare_methods(counts_dataset, recipe, tmp_path, fresh=True)
    assert fits(log) == ["steady", "steady"]


def test_other_inputs_are_fitted_again_and_it_is_said_why(tmp_path, counts_dataset, dense_dataset, log, monkeypatch):
    def events(dataset, **changes):
        diary = Diary()
        compare_methods(dataset, Recipe(methods=("steady",), **changes), tmp_path, callbacks=diary)
        return diary.events[0]

    assert events(counts_dataset) == ("started", "steady", None)
    assert events(counts_dataset, params={"steady": {"ridge": 2.0}}) == ("started", "steady", "the params changed")
    assert events(dense_dataset, params={"steady": {"ridge": 2.0}})[2] == "the dataset changed"
    assert events(dense_dataset)[2] == "the params changed"
    assert events(dense_dataset, split="val")[2] == "the split changed"
    assert events(dense_dataset, split="val", protocol=Protocol(unlabelled="train"))[2] == "the protocol changed"
    monkeypatch.setattr(run_store_module, "code_version", lambda module: "other")
    changed = events(dense_dataset, split="val", protocol=Protocol(unlabelled="train"))[2]
    assert changed == "the method's code and the evaluation's code changed"
    assert len(fits(log)) == 7


def test_one_failure_does_not_stop_the_others_and_is_tried_again(tmp_path, counts_dataset, log, monkeypatch):
    recipe = Recipe(methods=("failing", "crashing", "absent", "steady"), seeds=(0, 1))
    diary = Diary()
    results = compare_methods(counts_dataset, recipe, tmp_path, callbacks=diary)
    assert list(results["methods"]) == ["steady"]
    assert results["failures"]["failing"] == "the <b>matrix</b> is singular; choose a ridge."
    assert results["failures"]["crashing"] == "ZeroDivisionError: division by zero"
    assert "diptych[deep]" in results["failures"]["absent"]
    assert [event[0] for event in diary.events if event[1] == "failing"] == ["started", "failed"]
    monkeypatch.setenv("FAKE_MENDED", "1")
    again = compare_methods(counts_dataset, recipe, tmp_path)
    assert list(again["methods"]) == ["failing", "steady"]
    assert "failing" not in again["failures"]
    assert fits(log).count("steady") == 1


def test_everything_may_fail(tmp_path, counts_dataset):
    results = compare_methods(counts_dataset, Recipe(methods=("failing",)), tmp_path)
    assert results["methods"] == {}
    assert results["chance"]["map"] > 0
    assert (tmp_path / "report.html").exists()


def test_results_and_report_are_there_after_every_run(tmp_path, counts_dataset):
    seen = []

    class Reader(Callbacks):
        def started(self, run, because):
            if (tmp_path / "results.json").exists():
                results = json.loads((tmp_path / "results.json").read_text())
                partial = "Partial report" in (tmp_path / "report.html").read_text()
                seen.append((list(results["methods"]), results["pending"], partial))

    compare_methods(counts_dataset, Recipe(methods=("steady", "seeded"), seeds=(0, 1)), tmp_path, callbacks=Reader())
    assert seen == [
        (["steady"], ["seeded seed 0", "seeded seed 1"], True),
        (["steady", "seeded"], ["seeded seed 1"], True),
    ]
    assert "Partial report" not in (tmp_path / "report.html").read_text()


def test_a_report_in_use_is_refused(tmp_path, counts_dataset):
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="is being written by another comparison"):
            compare_methods(counts_dataset, Recipe(methods=("steady",)), tmp_path)


def test_a_report_cannot_be_where_a_file_is(tmp_path, counts_dataset):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"):
        compare_methods(counts_dataset, Recipe(methods=("steady",)), tmp_path / "file")


def test_modalities_are_chosen_by_name(tmp_path, three_dataset):
    recipe = Recipe(methods=("steady",), modalities=("text", "audio"))
    results = compare_methods(three_dataset, recipe, tmp_path)
    assert [name for name in results["chance"] if "->" in name] == ["text->audio", "audio->text"]
    with pytest.raises(ConfigError, match="no modality 'smell'"):
        compare_methods(three_dataset, Recipe(methods=("steady",), modalities=("text", "smell")), tmp_path)


def test_withheld_labels_are_drawn_anew_for_every_seed(tmp_path, counts_dataset):
    recipe = Recipe(methods=("steady",), seeds=(0, 1), protocol=Protocol(labels_per_class=2))
    results = compare_methods(counts_dataset, recipe, tmp_path)
    block = results["methods"]["steady"]
    assert len({run["average_map"] for run in block["runs"]}) == 2
    assert "2 training labels per class (seeds 0, 1)" in results["protocol"]["words"]


@pytest.fixture
def with_identity(monkeypatch):
    """The registry holds a fake, and the method that needs features of one width."""
    entries = {"steady": fakes.METHODS["steady"], "identity": Entry("diptych.methods.baselines:Identity", "as it is")}
    monkeypatch.setattr(registry, "_METHODS", entries)


def test_a_comparison_of_all_methods_leaves_out_what_the_data_do_not_suit(with_identity, tmp_path, counts_dataset):
    told = []
    callbacks = Callbacks()
    callbacks.left_out = lambda method, reason: told.append((method, reason))
    results = compare_methods(counts_dataset, Recipe(), tmp_path / "r", callbacks=callbacks)
    assert list(results["methods"]) == ["steady"]
    assert results["failures"] == {}
    assert told == list(results["left_out"].items())
    assert "image has 12, text has 20" in results["left_out"]["identity"]
    for name in ("results.md", "report.html"):
        assert "was left out: it compares features as they are" in (tmp_path / "r" / name).read_text()
    named = compare_methods(counts_dataset, Recipe(methods=("identity",)), tmp_path / "named")
    assert "'identity' cannot be used here" in named["failures"]["identity"]
    assert named["left_out"] == {}


def test_identity_has_its_row_where_features_are_as_wide(with_identity, tmp_path, shared_dataset):
    results = compare_methods(shared_dataset, Recipe(), tmp_path / "r")
    assert list(results["methods"]) == ["steady", "identity"]
    assert results["left_out"] == {} == results["failures"]
    assert results["methods"]["identity"]["saw"] == "nothing"
    assert results["methods"]["identity"]["average"]["map"] > 2 * results["chance"]["map"]


def test_a_curve_of_all_methods_leaves_out_the_same(with_identity, tmp_path, counts_dataset):
    curve = label_curve(counts_dataset, Recipe(), tmp_path / "c", [2, "all"])
    assert curve["failures"] == []


def test_an_image_and_its_text_that_are_two_items_are_counted_once(tmp_path):
    base = synthetic.draft()
    count = len(base.ids)
    first = np.arange(2 * count) < count
    modalities = {
        name: ModalityRows(rows.kind, rows.values, present)
        for (name, rows), present in zip(base.modalities.items(), (first, ~first), strict=True)
    }
    split = synthetic.replace(
        base,
        ids=[f"{name}-{side}" for side in ("image", "text") for name in base.ids],
        splits=base.splits * 2,
        labels=base.labels * 2,
        documents=list(base.ids) * 2,
        modalities=modalities,
    )
    dataset = synthetic.write(tmp_path / "data", split)
    results = compare_methods(dataset, Recipe(methods=("steady",)), tmp_path / "r")
    assert (results["dataset"]["items"], results["dataset"]["documents"]) == (2 * count, count)
    shown = " ".join((tmp_path / "r" / "report.html").read_text().split())
    assert "96 train, 40 validation, 60 test; 6 classes" in shown
