import json

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
from diptych.methods import load_model


@pytest.fixture
def model(diptych, tmp_path, counts_dataset):
    folder = tmp_path / "model"
    ended = diptych("fit", counts_dataset.path, "--method", "cca", "--out", folder)
    assert ended.status == 0, ended.err
    return folder


def test_an_export_says_how_far_it_is_from_the_model(diptych, tmp_path, counts_dataset, model):
    ended = diptych("export", model, "--onnx", tmp_path / "onnx", "--dataset", counts_dataset.path)
    assert (ended.status, ended.out) == (0, "")
    assert f"exported: {tmp_path / 'onnx'}" in ended.err
    assert (
        f"text.onnx: 0.0 MB, embeddings of {load_model(model).weights_['text'].shape[1]}; differs from the" in ended.err
    )
    assert f"{len(counts_dataset)} of the dataset" in ended.err


def test_embed_takes_an_export_in_the_models_place(diptych, tmp_path, counts_dataset, model):
    assert diptych("export", model, "--onnx", tmp_path / "onnx").status == 0
    for folder in (model, tmp_path / "onnx"):
        out = tmp_path / f"{folder.name}.npy"
        assert diptych("embed", folder, counts_dataset.path, "--modality", "text", "--out", out).status == 0
    np.testing.assert_allclose(np.load(tmp_path / "onnx.npy"), np.load(tmp_path / "model.npy"), atol=1e-5)


def test_the_result_as_json(diptych, tmp_path, model):
    said = json.loads(diptych("export", model, "--onnx", tmp_path / "onnx", "--json").out)
    assert said["folder"] == str(tmp_path / "onnx")
    assert said["checks"]["text"]["difference"] <= 1e-5 and said["checks"]["text"]["rows"] > 50
    assert said["sizes"]["text"] == (tmp_path / "onnx" / "text.onnx").stat().st_size
    assert said["needs_torch"] == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["{data}", "--onnx", "{new}"], "holds no model.json"),
        (["{model}", "--onnx", "{model}"], "already exists; choose another folder or pass --overwrite"),
        (["{model}", "--onnx", "{data}", "--overwrite"], "is not a model, so it is not overwritten"),
        (["{model}", "--onnx", "{new}", "--dataset", "{model}"], "holds no dataset.json"),
    ],
)
def test_mistakes_are_one_line_and_status_two(diptych, tmp_path, counts_dataset, model, words, told):
    places = {"data": counts_dataset.path, "model": model, "new": tmp_path / "new"}
    ended = diptych("export", *(word.format(**places) for word in words))
    assert (ended.status, ended.err.count("\n")) == (2, 1)
    assert told in ended.err
    assert not (tmp_path / "new").exists()
