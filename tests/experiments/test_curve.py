import fcntl
import json

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.data import Protocol, training_data
from diptych.experiments import Callbacks, Recipe, compare_methods, curve, evaluate_model, label_curve
from diptych.methods import registry
from experiments import curve_fakes
from experiments.fakes import fits

COLUMNS = ("image->text", "text->image", "average")


@pytest.fixture(autouse=True)
def curve_registry(fake_registry, monkeypatch):
    """The fakes of this part exist too."""
    monkeypatch.setattr(registry, "_METHODS", curve_fakes.METHODS)


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Drawings have tests of their own and take a second each; here they are only noted."""
    noted = []
    monkeypatch.setattr(curve, "write_plots", lambda folder, results: noted.append((folder, results)))
    return noted


def points(results, name):
    return {point["labels_per_class"]: point for point in results["methods"][name]["points"]}


def test_every_point_is_a_comparison_under_that_many_labels(tmp_path, counts_dataset):
    recipe = Recipe(methods=("seeded",), seeds=(0, 1, 2))
    results = label_curve(counts_dataset, recipe, tmp_path / "curve", ["all", 2])
    assert json.loads((tmp_path / "curve" / "curve.json").read_text()) == results
    assert results["labels_per_class"] == [2, "all"]
    assert results["pending"] == [] and results["failures"] == []
    for count, protocol in ((2, Protocol(labels_per_class=2)), ("all", Protocol())):
        alone = Recipe(methods=("seeded",), seeds=(0, 1, 2), protocol=protocol)
        expected = compare_methods(counts_dataset, alone, tmp_path / f"alone-{count}")
        point = points(results, "seeded")[count]
        assert results["chance"] == expected["chance"]
        for column in COLUMNS:
            block = expected["methods"]["seeded"][column]
            for name in ("map", "map_ci95", "map@50"):
                assert point[column][name] == block[name]
    assert points(results, "seeded")[2]["average"]["map"] < points(results, "seeded")["all"]["average"]["map"]


def test_it_is_drawn_after_every_step(tmp_path, counts_dataset, drawn):
    results = label_curve(counts_dataset, Recipe(methods=("steady",)), tmp_path, [1, "all"])
    assert [folder for folder, _ in drawn] == [tmp_path] * 2
    assert [each["pending"] for _, each in drawn] == [["labels-all"], []]
    assert drawn[-1][1] == results


def test_the_spread_is_that_of_separate_fits_with_each_seeds_own_labels(tmp_path, counts_dataset):
    results = label_curve(counts_dataset, Recipe(methods=("steady",), seeds=(3, 5)), tmp_path, [2])
    scores = []
    for seed in (3, 5):
        method = registry.create("steady").fit(counts_dataset, Protocol(labels_per_class=2, seed=seed))
        scores.append(evaluate_model(method, counts_dataset).directions)
    point = points(results, "steady")[2]
    for column in ("image->text", "text->image"):
        expected = [float(each[column].mean()) for each in scores]
        assert len(set(expected)) == 2
        assert point[column]["map"] == pytest.approx(np.mean(expected))
        assert point[column]["map_std_over_seeds"] == pytest.approx(np.std(expected, ddof=1))
    assert point["seeds"] == [3, 5] and not point["deterministic"]


def test_one_seed_has_no_spread(tmp_path, counts_dataset):
    results = label_curve(counts_dataset, Recipe(methods=("steady",)), tmp_path, [2, "all"])
    for point in points(results, "steady").values():
        assert [point[column]["map_std_over_seeds"] for column in COLUMNS] == [None] * 3


def test_methods_without_labels_are_fitted_once_and_lie_flat(tmp_path, counts_dataset, log):
    recipe = Recipe(methods=("steady", "label-free", "pool-reader"), seeds=(0, 1))
    results = label_curve(counts_dataset, recipe, tmp_path, [1, 4, "all"])
    assert fits(log) == ["label-free", "pool-reader"] + ["steady"] * 5
    assert list(results["methods"]) == ["steady", "label-free", "pool-reader"]
    assert [block["label_free"] for block in results["methods"].values()] == [False, True, True]
    assert len({json.dumps(point["average"]) for point in points(results, "label-free").values()}) == 1
    assert list(points(results, "label-free")) == [1, 4, "all"]


def test_a_method_that_reads_the_items_that_lost_their_labels_is_not_flat(tmp_path, counts_dataset, log):
    recipe = Recipe(methods=("pool-reader", "label-free"), seeds=(0, 1), protocol=Protocol(unlabelled="train"))
    results = label_curve(counts_dataset, recipe, tmp_path, [1, 4])
    assert fits(log) == ["label-free"] + ["pool-reader"] * 4
    assert not results["methods"]["pool-reader"]["label_free"]
    assert "unlabelled training features" in points(results, "pool-reader")[1]["saw"]


def test_a_failure_leaves_a_gap_and_its_reason(tmp_path, counts_dataset):
    recipe = Recipe(methods=("hungry", "crashing", "absent", "steady"))
    results = label_curve(counts_dataset, recipe, tmp_path, [1, 4, 5, "all"])
    assert list(results["methods"]) == ["hungry", "steady"]
    assert list(points(results, "hungry")) == [5, "all"]
    assert list(points(results, "steady")) == [1, 4, 5, "all"]
    failures = {failure["method"]: failure for failure in results["failures"]}
    assert failures["hungry"]["labels_per_class"] == [1, 4]
    assert failures["hungry"]["reason"].endswith("too few labels; give five per class.")
    assert "deep" in failures["absent"]["reason"]
    assert failures["absent"]["labels_per_class"] == [1, 4, 5, "all"]
    crashes = [failure for failure in results["failures"] if failure["method"] == "crashing"]
    assert [each["labels_per_class"] for each in crashes] == [[1, 4, 5], ["all"]]  # with and without a seed to name
    assert all("ZeroDivisionError" in each["reason"] for each in crashes)
    page = (tmp_path / "curve.md").read_text()
    (row, *_) = [line for line in page.splitlines() if line.startswith("| `hungry`")]
    assert row.startswith("| `hungry` | – | – | 0.")
    assert "`hungry` at labels per class 1, 4: " in page


def test_a_curve_of_failures_only_is_still_written(tmp_path, counts_dataset):
    results = label_curve(counts_dataset, Recipe(methods=("crashing",)), tmp_path, [1, "all"])
    assert results["methods"] == {}
    assert [failure["method"] for failure in results["failures"]] == ["crashing"] * 2
    assert "`crashing` at labels per class 1: " in (tmp_path / "curve.md").read_text()


def test_a_count_above_every_class_keeps_all_labels(tmp_path, counts_dataset):
    results = label_curve(counts_dataset, Recipe(methods=("steady",)), tmp_path, [1000, "all"])
    by_count = points(results, "steady")
    assert by_count[1000]["average"]["map"] == by_count["all"]["average"]["map"]
    assert results["kept_labels_per_class"][0] == results["kept_labels_per_class"][1] < 1000


def test_what_is_finished_is_kept_and_a_new_count_is_all_that_is_fitted(tmp_path, counts_dataset, log):
    recipe = Recipe(methods=("label-free", "steady"), seeds=(0, 1))
    first = label_curve(counts_dataset, recipe, tmp_path, [2, "all"])
    assert label_curve(counts_dataset, recipe, tmp_path, [2, "all"]) == first
    assert fits(log) == ["label-free", "steady", "steady", "steady"]
    longer = label_curve(counts_dataset, recipe, tmp_path, ["all", 2, 3])
    assert fits(log)[4:] == ["steady", "steady"]
    assert points(longer, "steady")[2] == points(first, "steady")[2]
    label_curve(counts_dataset, recipe, tmp_path, [2], fresh=True)
    assert len(fits(log)) == 9


def test_the_plan_is_told_once_and_runs_say_their_count(tmp_path, counts_dataset):
    told = []

    class Diary(Callbacks):
        def planned(self, runs):
            told.append([run.name for run in runs])

        def finished(self, run, average_map, seconds):
            content = json.loads((tmp_path / "curve.json").read_text()) if (tmp_path / "curve.json").exists() else {}
            told.append((run.name, content.get("pending")))

    recipe = Recipe(methods=("steady", "label-free"), seeds=(0, 1))
    label_curve(counts_dataset, recipe, tmp_path, ["all", 1], callbacks=Diary())
    varying = ["steady seed 0, 1 label per class", "steady seed 1, 1 label per class", "steady, all labels"]
    pending = [None, ["labels-1", "labels-all"], ["labels-1", "labels-all"], ["labels-all"]]
    names = ["label-free", *varying]
    assert told == [names, *zip(names, pending, strict=True)]


def test_it_says_in_words_what_training_saw(tmp_path, counts_dataset):
    recipe = Recipe(methods=("steady",), seeds=(0, 1), protocol=Protocol(unlabelled="train", use_pairs=True))
    results = label_curve(counts_dataset, recipe, tmp_path, [1, 2, "all"])
    words = results["protocol"]["words"]
    assert "1, 2 or all training labels per class (seeds 0, 1)" in words
    assert words.endswith("validation for selection only")
    assert results["protocol"]["unlabelled"] == "train" and results["protocol"]["use_pairs"]
    assert "labels_per_class" not in results["protocol"]
    page = (tmp_path / "curve.md").read_text()
    assert words in page
    assert "validation labels are never withheld" in page
    whole = label_curve(counts_dataset, Recipe(methods=("steady",)), tmp_path, ["all"])
    assert whole["protocol"]["words"] == Protocol().describe()


def test_methods_are_drawn_with_and_without_propagation(tmp_path, counts_dataset, log):
    recipe = Recipe(methods=("label-free", "steady", "hungry"), seeds=(0,))
    results = label_curve(counts_dataset, recipe, tmp_path / "both", [2, "all"], compare_propagation=True)
    names = ["label-free", "steady", "steady + propagation", "hungry", "hungry + propagation"]
    assert list(results["methods"]) == names
    assert fits(log) == ["label-free", *["steady"] * 2, "hungry", "steady", "hungry", "steady", "hungry"]
    for spread in (False, True):
        protocol = Protocol(labels_per_class=2, propagate=spread)
        alone = compare_methods(counts_dataset, Recipe(methods=("steady",), protocol=protocol), tmp_path / str(spread))
        point = points(results, names[1 + spread])[2]
        assert point["average"]["map"] == alone["methods"]["steady"]["average"]["map"]
        assert point["saw"] == "pairs + propagated labels" if spread else "pairs + labels"
    plain, spread = (points(results, name)["all"]["average"] for name in names[1:3])
    assert plain == spread  # no pair is left to propagate to
    assert points(results, "steady + propagation")[2]["folder"] == "labels-2-propagated"
    assert list(points(results, "hungry + propagation")) == [2, "all"]
    assert [failure["method"] for failure in results["failures"]] == ["hungry"]
    words = results["protocol"]["words"]
    assert "2 or all training labels per class (seed 0), propagated, where a name says so, to the other" in words
    page = (tmp_path / "both" / "curve.md").read_text()
    assert "the propagation's, not the method's" in page and "`steady + propagation`: pairs + propagated labels" in page


def test_a_protocol_that_propagates_does_so_at_every_count(tmp_path, counts_dataset):
    recipe = Recipe(methods=("steady", "label-free"), protocol=Protocol(propagate=True))
    results = label_curve(counts_dataset, recipe, tmp_path, [2])
    assert list(results["methods"]) == ["steady", "label-free"]
    assert points(results, "steady")[2]["saw"] == "pairs + propagated labels"
    assert "(seed 0), propagated to the other training pairs, " in results["protocol"]["words"]
    comparison = json.loads((tmp_path / "labels-2" / "results.json").read_text())["methods"]["steady"]
    assert comparison["propagation"]["given"] == 12
    assert comparison["runs"][0]["propagation"] == comparison["propagation"]


def test_with_few_validation_labels_methods_that_read_none_are_not_flat(tmp_path, counts_dataset, log):
    recipe = Recipe(methods=("label-free",), seeds=(0, 1), protocol=Protocol(withhold_validation=True))
    results = label_curve(counts_dataset, recipe, tmp_path, [1, "all"])
    assert fits(log) == ["label-free"] * 3
    assert not results["methods"]["label-free"]["label_free"]
    assert "validation, its labels withheld alike, for selection only" in results["protocol"]["words"]
    assert "validation labels are withheld alike." in (tmp_path / "curve.md").read_text()


def test_a_folder_in_use_is_refused(tmp_path, counts_dataset):
    with (tmp_path / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(DataError, match="is being written by another"):
            label_curve(counts_dataset, Recipe(methods=("steady",)), tmp_path, [1])


@pytest.mark.parametrize(
    ("recipe", "counts", "words"),
    [
        (Recipe(protocol=Protocol(labels_per_class=3)), [1], "the protocol withholds labels already"),
        (Recipe(protocol=Protocol(label_share=0.5)), [1], "the protocol withholds labels already"),
        (Recipe(), [0], "labels per class lists '0'"),
    ],
)
def test_mistakes_are_said_before_anything_is_written(tmp_path, counts_dataset, recipe, counts, words):
    with pytest.raises(ConfigError, match=words):
        label_curve(counts_dataset, recipe, tmp_path / "curve", counts)
    assert not (tmp_path / "curve").exists()


def test_a_wrong_parameter_is_said_before_anything_is_fitted(tmp_path, counts_dataset, log):
    recipe = Recipe(methods=("steady", "label-free"), params={"steady": {"rigde": 1.0}})
    with pytest.raises(ConfigError, match="rigde"):
        label_curve(counts_dataset, recipe, tmp_path / "curve", [1])
    assert fits(log) == []


def test_three_modalities_have_all_their_directions(tmp_path, three_dataset):
    results = label_curve(three_dataset, Recipe(methods=("steady",)), tmp_path, [3, "all"])
    assert sum("->" in name for name in points(results, "steady")[3]) == 6
    assert "## audio → text" in (tmp_path / "curve.md").read_text()


def test_a_seeds_few_labels_are_among_its_many(counts_dataset):
    for seed in (0, 1):
        few, many = (
            training_data(counts_dataset, Protocol(labels_per_class=count, seed=seed)).train.labels.is_labelled
            for count in (2, 5)
        )
        assert few.sum() < many.sum() and not np.any(few & ~many)
