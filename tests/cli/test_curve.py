import json

import pytest

from diptych.experiments import curve
from diptych.methods import registry
from experiments import curve_fakes
from experiments.fakes import fits


@pytest.fixture(autouse=True)
def curve_methods(fake_methods, monkeypatch):
    """The fakes of curves exist too."""
    monkeypatch.setattr(registry, "_METHODS", curve_fakes.METHODS)


def test_it_prints_tables_and_says_where_the_drawing_is(diptych, tmp_path, counts_dataset):
    out = tmp_path / "curve"
    options = ["--methods", "steady,label-free", "--labels-per-class", "all,2", "--seeds", "0,1", "--out", out]
    ended = diptych("curve", counts_dataset.path, *options)
    assert ended.status == 0
    results = json.loads((out / "curve.json").read_text())
    assert results["labels_per_class"] == [2, "all"]
    first, last = results["methods"]["steady"]["points"]
    for column in ("image->text", "text->image", "average"):
        scores = first[column]
        assert column in [line.strip() for line in ended.out.splitlines()]
        assert f"{scores['map']:.3f} ±{scores['map_std_over_seeds']:.3f}" in ended.out
        assert f"{scores['map_ci95'][0]:.3f}–{scores['map_ci95'][1]:.3f}" in ended.out
    assert f"{last['average']['map']:.3f}" in ended.out
    assert ended.out.startswith("synthetic, split test: MAP by labels per class\n")
    assert "random ranking" in ended.out
    assert "2 or all training labels per class (seeds 0, 1)" in " ".join(ended.out.split())
    assert "[2/4] steady seed 0, 2 labels per class: average MAP" in ended.err
    assert "[4/4] steady, all labels: average MAP" in ended.err
    assert f"curve: {out / 'curve.svg'}" in ended.err
    assert (out / "curve.svg").read_text().rstrip().endswith("</svg>")
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out what takes a second and has tests of its own."""
    monkeypatch.setattr(curve, "write_plots", lambda folder, results: None)


@pytest.mark.usefixtures("undrawn")
def test_json_alone_goes_to_stdout(diptych, tmp_path, counts_dataset):
    options = [
        "--methods",
        "steady",
        "--labels-per-class",
        "3",
        "--set",
        "steady.ridge=2.0",
        "--out",
        tmp_path,
        "--json",
    ]
    ended = diptych("curve", counts_dataset.path, *options)
    assert json.loads(ended.out) == json.loads((tmp_path / "curve.json").read_text())
    assert json.loads(ended.out)["protocol"]["seeds"] == [0, 1, 2]
    assert json.loads(ended.out)["methods"]["steady"]["points"][0]["chosen"] == {"ridge": 2.0}


@pytest.mark.usefixtures("undrawn")
def test_a_failure_is_a_gap_a_line_and_status_one(diptych, tmp_path, counts_dataset):
    options = ["--methods", "hungry", "--labels-per-class", "1,6", "--seeds", "0", "--out", tmp_path]
    ended = diptych("curve", counts_dataset.path, *options)
    assert ended.status == 1
    assert "hungry failed at labels per class 1: seed 0: too few labels; give five per class." in ended.out
    assert "failed: hungry; run the same command to try them again" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.usefixtures("undrawn")
def test_a_narrow_terminal_gets_narrow_tables(diptych, tmp_path, counts_dataset, monkeypatch):
    monkeypatch.setattr("diptych.cli.console._WIDTH_IN_FILES", 80)
    counts = "1,2,3,4,5,10,all"
    options = ["--methods", "steady", "--labels-per-class", counts, "--seeds", "0,1", "--out", tmp_path]
    ended = diptych("curve", counts_dataset.path, *options)
    point = json.loads((tmp_path / "curve.json").read_text())["methods"]["steady"]["points"][0]
    assert max(map(len, ended.out.splitlines())) <= 80
    assert f"±{point['average']['map_std_over_seeds']:.3f}" in ended.out
    assert "…" not in ended.out


@pytest.mark.usefixtures("undrawn")
def test_the_protocol_is_as_asked(diptych, tmp_path, counts_dataset):
    options = ["--unlabelled", "train", "--use-pairs", "--select-at", "50", "--split", "val"]
    ended = diptych(
        "curve", counts_dataset.path, *options, "--methods", "steady", "--seeds", "0",
        "--labels-per-class", "2", "--out", tmp_path, "--json",
    )  # fmt: skip
    results = json.loads(ended.out)
    kept = {name: results["protocol"][name] for name in ("unlabelled", "use_pairs", "select_at")}
    assert kept == {"unlabelled": "train", "use_pairs": True, "select_at": 50}
    assert results["split"] == "val"


@pytest.mark.usefixtures("undrawn")
def test_propagation_can_be_drawn_beside_the_labels_alone(diptych, tmp_path, counts_dataset):
    options = ["--methods", "steady", "--seeds", "0", "--labels-per-class", "2", "--withhold-validation"]
    ended = diptych("curve", counts_dataset.path, *options, "--compare-propagation", "--out", tmp_path / "both")
    assert ended.status == 0
    assert "steady + propagation" in ended.out
    assert "[2/2] steady seed 0, 2 labels per class, propagated: average MAP" in ended.err
    alone = diptych("curve", counts_dataset.path, *options, "--propagate", "--out", tmp_path / "one", "--json")
    results = json.loads(alone.out)
    assert list(results["methods"]) == ["steady"]
    assert results["protocol"]["propagate"] and results["protocol"]["withhold_validation"]
    both = json.loads((tmp_path / "both" / "curve.json").read_text())["methods"]["steady + propagation"]
    assert both["points"][0]["average"] == results["methods"]["steady"]["points"][0]["average"]


@pytest.mark.usefixtures("undrawn")
def test_running_again_keeps_what_is_finished(diptych, tmp_path, counts_dataset, monkeypatch):
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "log"))
    command = ["curve", counts_dataset.path, "--methods", "steady", "--labels-per-class", "2", "--out", tmp_path / "c"]
    diptych(*command)
    again = diptych(*command)
    assert again.err.count("kept from before") == 3
    assert len(fits(tmp_path / "log")) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--labels-per-class", "1,1"], "labels per class lists 1 twice"),
        (["--labels-per-class", "0"], "labels per class lists '0'"),
        (["--labels-per-class", "some"], "labels per class lists 'some'"),
        (["--labels-per-class", ","], "there is no label count"),
        (["--methods", ""], "--methods is empty"),
        (["--methods", "stedy"], "did you mean 'steady'?"),
        (["--set", "seeded.noise=1"], "a parameter is given for 'seeded', which does not run"),
        (["--seeds", "one"], "the seeds are 'one'"),
        (["--use-pairs"], "use_pairs is on but unlabelled is 'none'"),
    ],
)
def test_mistakes_are_one_line_and_status_two(diptych, tmp_path, counts_dataset, options, words):
    base = [] if "--methods" in options else ["--methods", "steady"]
    ended = diptych("curve", counts_dataset.path, *base, *options, "--out", tmp_path / "c")
    assert ended.status == 2
    assert ended.out == ""
    (line,) = ended.err.strip().splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert not (tmp_path / "c").exists()
