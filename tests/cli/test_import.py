from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from diptych._core.errors import DiptychError
from diptych.cli import import_command
from diptych.data import Dataset

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "wikipedia"


def run(*words):
    return CliRunner().invoke(import_command.app, [str(word) for word in words], catch_exceptions=False)


def test_synthetic(tmp_path):
    result = run("synthetic", "--out", tmp_path / "d", "--items", 100, "--classes", 3, "--seed", 4, "--multi-label")
    assert result.exit_code == 0
    assert "100, 3 classes, some with several labels" in result.stdout
    assert Dataset.open(tmp_path / "d").source["seed"] == 4


def test_arrays(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(10))
    (tmp_path / "t.csv").write_text("w_0,w_1,y\n" + "".join(f"{i},0,{i % 2 - 1}\n" for i in range(10)))
    (tmp_path / "names.txt").write_text("cat\n")
    result = run(
        *("arrays", "--out", tmp_path / "d", "-f", f"image={tmp_path}/x.npy", "-f", f"text={tmp_path}/t.csv:w_*"),
        *("--kind", "text=counts", "--labels", f"{tmp_path}/t.csv:y", "--missing-label", "-1"),
        *("--classes", tmp_path / "names.txt", "--name", "mine", "--test-share", "0.4"),
    )
    assert result.exit_code == 0, result.output
    dataset = Dataset.open(tmp_path / "d")
    assert dataset.labels.codes.tolist() == [-1, 0] * 5
    assert (dataset.name, dataset.classes) == ("mine", ("cat",))
    assert dataset.modalities["text"].kind == "counts"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--features", "image"], "--features is 'image'; write it as NAME=VALUE"),
        (["--features", "a=x", "--features", "a=y"], "names 'a' twice"),
        (["--features", "a=none.npy"], "none.npy does not exist"),
        (["--features", "a=none.npy", "--classes", "none.txt"], "none.txt, which is not a file"),
    ],
)
def test_bad_options_propagate(tmp_path, words, sentence):
    with pytest.raises(DiptychError) as caught:
        run("arrays", "--out", tmp_path / "d", *words)
    assert sentence in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_nuswide_without_files(tmp_path):
    with pytest.raises(DiptychError, match="no Labels_"):
        run("nuswide10k", tmp_path, "--out", tmp_path / "d", "--per-class", 5)


@pytest.mark.real_data
@pytest.mark.skipif(not REAL.exists(), reason="the Wikipedia features are not beside the checkout")
def test_wikipedia(tmp_path):
    result = run("wikipedia", REAL, "--out", tmp_path / "d")
    for fact in ("2,866, 10 classes", "2173/231/462", "128-d", "10-d"):
        assert fact in result.stdout
    assert run("wikipedia", REAL, "--out", tmp_path / "d", "--split", "seeded", "--overwrite").exit_code == 0
