import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from diptych._core.errors import DataError
from diptych.cli.dataset_commands import info
from diptych.data import Draft, ModalityRows, write_dataset
from diptych.data.synthetic import make_synthetic


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
    lacking = int(np.sum(~dataset.has("text")))
    assert found["modalities"]["text"] == {
        "kind": "counts",
        "dimension": 200,
        "items": 200 - lacking,
        "lacking": lacking,
    }
    assert [counts["train"] for counts in found["classes"].values()] == train.labels.class_counts().tolist()


def test_people_see_the_facts(dataset):
    shown = run(dataset.path).stdout
    splits = "/".join(str(len(dataset.split(name))) for name in ("train", "val", "test"))
    for fact in ("[odd] name", "200, 4 classes", splits, dataset.fingerprint, "64-d", "200-d", "class-3"):
        assert fact in shown


def test_verify(dataset):
    assert "match their checksums" in run(dataset.path, "--verify").stdout
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


def test_an_image_and_its_text_are_one_item(tmp_path):
    """Five documents, of which three have an image and a text in rows of their own."""
    rows = [("a", "i"), ("a", "t"), ("b", "i"), ("b", "t"), ("c", "i"), ("c", "t"), ("d", "i"), ("e", "t")]
    count = len(rows)
    draft = Draft(
        name="sides",
        ids=[f"{document}-{side}" for document, side in rows],
        splits=["train"] * 6 + ["test"] * 2,
        labels=["x", "x", "y", None, None, "y", None, "x"],
        classes=["x", "y"],
        documents=[document for document, _ in rows],
        modalities={
            name: ModalityRows("dense", np.ones((sum(side == mark for _, side in rows), 3), dtype=np.float32), present)
            for name, mark in (("image", "i"), ("text", "t"))
            if (present := np.array([side == mark for _, side in rows])) is not None
        },
    )
    dataset = write_dataset(tmp_path / "d", draft)
    found = json.loads(run(dataset.path, "--json").stdout)
    assert (found["items"], found["rows"], found["complete"]) == (5, count, 3)
    assert found["splits"] == {"train": 3, "val": 0, "test": 2}
    assert found["labelled"] == {"train": 3, "val": 0, "test": 1}
    assert found["classes"] == {"x": {"train": 1, "val": 0, "test": 1}, "y": {"train": 2, "val": 0, "test": 0}}
    assert {name: (m["items"], m["lacking"]) for name, m in found["modalities"].items()} == {
        "image": (4, 1),
        "text": (4, 1),
    }
    assert "items: 5 in 8 rows, 2 classes" in run(dataset.path).stdout
