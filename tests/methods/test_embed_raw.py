"""A model keeps the road from raw items to rows, and refuses rows that came by another."""

import json
import shutil

import numpy as np
import pytest

from diptych._core.errors import DataError
from diptych.data import Dataset
from diptych.experiments import evaluate_model
from diptych.ingest import IngestOptions, ingest
from diptych.methods import create, load_model, save_model
from ingest.conftest import write_pairs
from ingest.images import noise


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("raw") / "set")


@pytest.fixture(scope="module")
def dataset(raw):
    features = {"image": "colour-moments", "text": "bow:12"}
    return ingest(IngestOptions(raw, raw.parent / "made", features=features)).dataset


@pytest.fixture(scope="module")
def model(dataset):
    return create("cca", components=3).fit(dataset)


def test_raw_items_get_the_codes_of_their_rows(dataset, model, raw, tmp_path) -> None:
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    everything = dataset.everything
    paths = [raw.parent / name for name in dataset.ids.tolist()]
    for method in (model, loaded):
        codes = method.embed_raw("image", paths)
        np.testing.assert_array_equal(codes, model.embed("image", everything.features("image")))
        texts = dataset.items.column("text").to_pylist()
        np.testing.assert_array_equal(method.embed_raw("text", texts), model.embed("text", everything.features("text")))
    assert loaded.embed_raw("image", paths[0]).shape == (1, 3)
    assert loaded.embed_raw("text", "a red thing").shape == (1, 3)
    np.testing.assert_array_equal(loaded.embed_raw("image", noise(4)), codes[4:5])


def test_the_model_is_whole_without_its_dataset(dataset, model, raw, tmp_path) -> None:
    shutil.copytree(dataset.path, tmp_path / "copy")
    fitted = create("cca", components=3).fit(Dataset.open(tmp_path / "copy"))
    save_model(fitted, tmp_path / "model")
    save_model(fitted, tmp_path / "model", overwrite=True)
    shutil.rmtree(tmp_path / "copy")
    loaded = load_model(tmp_path / "model")
    assert loaded.record_["pipeline"] == dataset.pipeline_fingerprint == loaded.pipeline.fingerprint
    np.testing.assert_array_equal(loaded.embed_raw("text", "red"), model.embed_raw("text", "red"))
    save_model(loaded, tmp_path / "again")
    assert load_model(tmp_path / "again").pipeline.fingerprint == dataset.pipeline_fingerprint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "model"]


def test_rows_of_another_pipeline_are_refused(dataset, model, raw, tmp_path) -> None:
    assert evaluate_model(model, dataset).directions
    features = {"image": "colour-moments", "text": "bow:12"}
    lines = raw.read_text().splitlines()
    (tmp_path / "other.jsonl").write_text("\n".join(lines[5:]))
    other = ingest(
        IngestOptions(tmp_path / "other.jsonl", tmp_path / "other", images=raw.parent, features=features)
    ).dataset
    assert other.modalities["text"].dimension == dataset.modalities["text"].dimension
    with pytest.raises(
        DataError, match=f"by pipeline {dataset.pipeline_fingerprint} and these rows by pipeline"
    ) as told:
        evaluate_model(model, other)
    assert str(other.pipeline_fingerprint) in str(told.value)
    assert "diptych ingest … --pipeline MODEL" in str(told.value)
    save_model(model, tmp_path / "model")
    options = IngestOptions(
        tmp_path / "other.jsonl", tmp_path / "same", images=raw.parent, pipeline=tmp_path / "model", features=features
    )
    assert evaluate_model(model, ingest(options).dataset).directions


def test_a_model_of_numbers_reads_no_raw_items(counts_dataset, tmp_path) -> None:
    model = create("cca", components=3).fit(counts_dataset)
    with pytest.raises(DataError, match="learned from rows that came as numbers"):
        model.embed_raw("text", "red")
    save_model(model, tmp_path / "model")
    body = json.loads((tmp_path / "model" / "model.json").read_text())
    del body["state"]["record_"]["pipeline"], body["checksum"]  # as models were before there were either
    (tmp_path / "model" / "model.json").write_text(json.dumps(body))
    old = load_model(tmp_path / "model")
    with pytest.raises(DataError, match="learned from rows that came as numbers"):
        old.embed_raw("text", "red")
    assert evaluate_model(old, counts_dataset).directions


def test_a_dataset_made_again_after_the_fit_is_noticed(dataset, raw, tmp_path) -> None:
    shutil.copytree(dataset.path, tmp_path / "made")
    fitted = create("cca", components=3).fit(Dataset.open(tmp_path / "made"))
    features = {"image": "colour-histogram", "text": "bow:12"}
    ingest(IngestOptions(raw, tmp_path / "made", features=features, overwrite=True))
    with pytest.raises(DataError, match="changed since the fit, so fit again"):
        save_model(fitted, tmp_path / "model")
    assert not (tmp_path / "model").exists()
    with pytest.raises(DataError, match=r"fit again, as .* changed"):
        fitted.embed_raw("text", "red")
