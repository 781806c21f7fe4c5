import json

import pytest

from experiments.fakes import fits

pytestmark = pytest.mark.usefixtures("fake_methods")


def test_it_prints_a_table_and_says_where_the_report_is(diptych, tmp_path, counts_dataset):
    out = tmp_path / "report"
    ended = diptych("compare", counts_dataset.path, "--methods", "steady,seeded", "--seeds", "0,1", "--out", out)
    assert ended.status == 0
    results = json.loads((out / "results.json").read_text())
    for name, block in results["methods"].items():
        low, high = block["average"]["map_ci95"]
        assert f"{block['average']['map']:.3f} ({low:.3f}–{high:.3f})" in ended.out
        assert name in ended.out
    assert f"{results['methods']['seeded']['average']['map_std_over_seeds']:.3f}" in ended.out
    assert "random ranking" in ended.out
    assert "pairs + labels" in ended.out
    assert "[3/3] seeded seed 1: average MAP" in ended.err
    assert str(out / "report.html") in ended.err
    assert (out / "report.html").read_text().startswith("<!doctype html>")


def test_json_alone_goes_to_stdout(diptych, tmp_path, counts_dataset):
    ended = diptych("compare", counts_dataset.path, "--methods", "steady", "--out", tmp_path / "r", "--json")
    assert json.loads(ended.out) == json.loads((tmp_path / "r" / "results.json").read_text())


def test_a_failure_is_a_row_and_status_one(diptych, tmp_path, counts_dataset):
    ended = diptych("compare", counts_dataset.path, "--methods", "failing,steady", "--out", tmp_path)
    assert ended.status == 1
    (row,) = [line for line in ended.out.splitlines() if "failing" in line]
    assert "failed" in row
    assert "[1/2] failing: failed: the <b>matrix</b> is singular; choose a ridge." in ended.err
    assert "steady" in ended.out
    assert "failed: failing; run the same command to try them again" in ended.err
    assert "Traceback" not in ended.err


def test_the_recipe_is_the_base_and_options_go_on_top(diptych, tmp_path, counts_dataset):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        """
        methods = ["steady", "seeded"]
        seeds = [0, 1, 2]
        [protocol]
        label_share = 0.5
        [params.seeded]
        noise = 0.1
        ridge = 3.0
        """
    )
    arguments = ["--recipe", recipe, "--methods", "seeded", "--seeds", "7", "--labels-per-class", "4"]
    ended = diptych(
        "compare", counts_dataset.path, *arguments, "--set", "seeded.noise=0.25", "--out", tmp_path / "r", "--json"
    )
    results = json.loads(ended.out)
    assert results["methods"]["seeded"]["params"] == {"ridge": 3.0, "noise": 0.25, "seed": 7}
    assert results["protocol"]["labels_per_class"] == 4
    assert results["protocol"]["label_share"] is None


def test_pairs_of_unlabelled_items_are_an_option(diptych, tmp_path, counts_dataset):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[protocol]\nunlabelled = "train"\nlabels_per_class = 2\nuse_pairs = true')
    command = ["compare", counts_dataset.path, "--methods", "steady", "--json", "--out", tmp_path / "r"]
    used = json.loads(diptych(*command, "--unlabelled", "train", "--use-pairs").out)["protocol"]
    assert used["use_pairs"] is True
    assert "in their pairs" in used["words"]
    assert json.loads(diptych(*command, "--recipe", recipe).out)["protocol"]["use_pairs"] is True
    kept_apart = json.loads(diptych(*command, "--recipe", recipe, "--no-pairs").out)["protocol"]
    assert kept_apart["use_pairs"] is False
    assert "each modality by itself" in kept_apart["words"]


def test_propagated_labels_are_an_option(diptych, tmp_path, counts_dataset):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text("[protocol]\nlabels_per_class = 2\npropagate = true\nwithhold_validation = true")
    command = ["compare", counts_dataset.path, "--methods", "steady", "--out", tmp_path / "r", "--json"]
    results = json.loads(diptych(*command, "--labels-per-class", "2", "--propagate", "--withhold-validation").out)
    assert results["protocol"]["propagate"] is True and results["protocol"]["withhold_validation"] is True
    assert results["methods"]["steady"]["saw"] == "pairs + propagated labels"
    assert results["methods"]["steady"]["propagation"]["propagated"] == 84
    again = json.loads(diptych(*command, "--recipe", recipe).out)
    assert again["protocol"] == results["protocol"]
    plain = json.loads(diptych(*command, "--recipe", recipe, "--no-propagate", "--all-validation").out)
    assert not plain["protocol"]["propagate"] and not plain["protocol"]["withhold_validation"]
    assert "propagation" not in plain["methods"]["steady"]


def test_running_again_keeps_what_is_finished(diptych, tmp_path, counts_dataset, monkeypatch):
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    command = ["compare", counts_dataset.path, "--methods", "steady", "--out", tmp_path / "r"]
    diptych(*command)
    again = diptych(*command)
    assert "kept from before" in again.err
    other = diptych(*command, "--set", "steady.ridge=2.0")
    assert "steady: fitting again, the params changed" in other.err
    assert len(fits(tmp_path / "log")) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--methods", "stedy"], "did you mean 'steady'?"),
        (["--methods", ""], "--methods is empty"),
        (["--methods", "steady", "--set", "steady.rigde=1"], "method 'steady' has no parameter 'rigde'; it has ridge."),
        (["--methods", "steady", "--set", "seeded.noise=1"], "a parameter is given for 'seeded', which does not run"),
        (["--methods", "steady", "--set", "ridge=1"], "the setting 'ridge' names no method"),
        (["--methods", "steady", "--seeds", "one"], "the seeds are 'one'"),
        (["--methods", "steady", "--label-share", "2"], "label_share is 2.0"),
        (["--methods", "steady", "--use-pairs"], "use_pairs is on but unlabelled is 'none'"),
        (["--methods", "steady", "--modalities", "image,smell"], "no modality 'smell'"),
        (["--methods", "steady", "--recipe", "nowhere.toml"], "nowhere.toml cannot be read"),
    ],
)
def test_mistakes_are_one_line_and_status_two(diptych, tmp_path, counts_dataset, options, words):
    ended = diptych("compare", counts_dataset.path, *options, "--out", tmp_path / "r")
    assert ended.status == 2
    assert ended.out == ""
    (line,) = ended.err.strip().splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert not (tmp_path / "r" / "results.json").exists()


def test_no_dataset_is_said_plainly(diptych, tmp_path):
    ended = diptych("compare", tmp_path / "nothing", "--out", tmp_path / "r")
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert "is not a folder; make a dataset with `diptych import`" in ended.err


def test_an_unknown_choice_is_refused(diptych, tmp_path, counts_dataset):
    ended = diptych("compare", counts_dataset.path, "--unlabelled", "some", "--out", tmp_path / "r")
    assert ended.status == 2
    assert "test-features" in ended.err
