import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from diptych.cli.info import info
from diptych.data.synthetic import make_synthetic
from diptych.errors import DataError


def run(*words):
    app = typer.Typer()
    app.command()(info)
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def dataset(tmp_path):
    return make_synthetic(
        tmp_path / "d", items=200, classes=4, unlabelled_share=0.5, missing_share=0.2, name="[odd] name"
    )


def test_json_holds_the_facts(dataset):
    found = json.loads(run(dataset.path, "--json").stdout)
    train = dataset.split("train")
    assert found["name"] == "[odd] name"
    assert found["items"] == 200
    assert found["fingerprint"] == dataset.fingerprint
    assert found["splits"] == {name: len(dataset.split(name)) for name in ("train", "val", "test")}
    assert found["labelled"]["train"] == int(train.labels.is_labelled.sum())
    assert found["modalities"]["text"] == {
        "kind": "counts",
        "dimension": 200,
        "lacking": int(np.sum(~dataset.has("text"))),
    }
    assert [counts["train"] for counts in found["classes"].values()] == train.labels.class_counts().tolist()


def test_people_see_the_facts(dataset):
    shown = run(dataset.path).stdout
    splits = "/".join(str(len(dataset.split(name))) for name in ("train", "val", "test"))
    for fact in ("[odd] name", "200, 4 classes", splits, dataset.fingerprint, "64-d", "200-d", "class-3"):
        assert fact in shown


def test_verify(dataset):
    assert "as they were written" in run(dataset.path, "--verify").stdout
    assert json.loads(run(dataset.path, "--json", "--verify").stdout)["verified"] is True
    path = dataset.path / "image.npy"
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match="is not as it was written: image changed; import it again"):
        run(dataset.path, "--verify")
    assert run(dataset.path).exit_code == 0


def test_what_is_no_dataset(tmp_path):
    with pytest.raises(DataError, match="holds no dataset"):
        run(tmp_path)
