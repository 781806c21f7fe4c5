"""A model is a folder: written whole or not at all, read without trust."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from diptych._core.errors import ConfigError, DataError
from diptych.methods import create, load_model, model_fingerprint, save_model


@pytest.fixture(scope="module")
def method(counts_dataset):
    return create("sm", strength=0.1).fit(counts_dataset)


@pytest.fixture
def folder(method, tmp_path) -> Path:
    save_model(method, tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, **changes) -> None:
    body = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(body | changes))


def test_an_existing_folder_is_kept_unless_told_otherwise(method, folder) -> None:
    before = (folder / "model.json").read_bytes()
    with pytest.raises(DataError, match="already exists"):
        save_model(method, folder)
    assert (folder / "model.json").read_bytes() == before
    save_model(method, folder, overwrite=True)
    assert load_model(folder).registry_name == "sm"


def test_a_failed_save_leaves_the_old_model(method, folder, monkeypatch) -> None:
    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("diptych._core.state_folder.write_json", fail)
    with pytest.raises(OSError, match="disk full"):
        save_model(method, folder, overwrite=True)
    assert load_model(folder).is_fitted
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_nothing_in_the_folder_is_executable(folder) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "weights.safetensors"]
    body = json.loads((folder / "model.json").read_text())
    assert body["method"] == "sm"
    assert body["versions"].keys() == {"python", "diptych", "numpy", "scipy"}


def test_the_fingerprint_is_of_the_content(method, folder, counts_dataset, tmp_path) -> None:
    save_model(method, tmp_path / "again")
    assert model_fingerprint(tmp_path / "again") == model_fingerprint(folder)
    save_model(create("sm", strength=0.2).fit(counts_dataset), tmp_path / "other")
    assert model_fingerprint(tmp_path / "other") != model_fingerprint(folder)


def test_a_folder_without_a_model_is_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"holds no model\.json, so it is not a model"):
        load_model(tmp_path)


@pytest.mark.parametrize("changes", [{"format": "other"}, {"format_version": 99}])
def test_other_formats_are_refused(folder, changes) -> None:
    edit(folder, **changes)
    with pytest.raises(DataError, match="this diptych reads 'diptych-model' version 1"):
        load_model(folder)


def test_unknown_methods_and_parameters_are_refused(folder) -> None:
    edit(folder, params={"depth": 2})
    with pytest.raises(ConfigError, match="has no parameter 'depth'"):
        load_model(folder)
    edit(folder, method="oracle")
    with pytest.raises(ConfigError, match="there is no method 'oracle'"):
        load_model(folder)


@pytest.mark.parametrize("content", [b"", b"not a safetensors file at all"])
def test_damaged_weights_are_refused(folder, content) -> None:
    (folder / "weights.safetensors").write_bytes(content)
    with pytest.raises(DataError, match=r"weights\.safetensors cannot be read"):
        load_model(folder)


def test_missing_weights_are_refused(folder) -> None:
    (folder / "weights.safetensors").unlink()
    with pytest.raises(DataError, match=r"weights\.safetensors cannot be read"):
        load_model(folder)


def test_a_missing_array_is_named(folder) -> None:
    arrays = load_file(folder / "weights.safetensors")
    missing = next(name for name in arrays if "weights" in name)
    save_file({key: value for key, value in arrays.items() if key != missing}, folder / "weights.safetensors")
    with pytest.raises(DataError, match="lack the array"):
        load_model(folder)


def test_broken_json_is_named(folder) -> None:
    (folder / "model.json").write_text("{")
    with pytest.raises(DataError, match=r"model\.json is not valid JSON"):
        load_model(folder)


def test_a_model_can_be_saved_again(folder, tmp_path, counts_dataset) -> None:
    loaded = load_model(folder)
    save_model(loaded, tmp_path / "copy")
    rows = counts_dataset.split("test").features("text")
    np.testing.assert_array_equal(load_model(tmp_path / "copy").embed("text", rows), loaded.embed("text", rows))
    assert model_fingerprint(tmp_path / "copy") == model_fingerprint(folder)


def test_the_fingerprint_is_that_of_the_codes_not_of_the_clock(counts_dataset, tmp_path) -> None:
    for name in ("first", "second"):
        save_model(create("cca").fit(counts_dataset), tmp_path / name)
    save_model(create("cca", components=2).fit(counts_dataset), tmp_path / "other")
    assert model_fingerprint(tmp_path / "first") == model_fingerprint(tmp_path / "second")
    assert model_fingerprint(tmp_path / "first") != model_fingerprint(tmp_path / "other")


def test_a_method_without_a_name_is_not_saved(counts_dataset, tmp_path) -> None:
    from diptych.methods.cca import CCA

    with pytest.raises(ConfigError, match="create"):
        save_model(CCA().fit(counts_dataset), tmp_path / "nameless")
    assert not (tmp_path / "nameless").exists()
