"""A model is a folder: written whole or not at all, read without trust."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from diptych._core.errors import ConfigError, DataError
from diptych.methods import create, load_model, method_class, model_fingerprint, names, save_model
from diptych.methods.linear.cca import CCA, CFA
from diptych.methods.linear.kcca import KCCA
from diptych.methods.registry import name_of
from diptych.methods.semantic.matching import SemanticMatching


@pytest.fixture(scope="module")
def method(counts_dataset):
    return create("sm", strength=0.1).fit(counts_dataset)


@pytest.fixture
def folder(method, tmp_path) -> Path:
    save_model(method, tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, **changes) -> None:
    """Change a model as no accident does: without the checksum that would tell."""
    body = json.loads((folder / "model.json").read_text())
    body.pop("checksum", None)
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

    monkeypatch.setattr("diptych._core.state.write_json", fail)
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
    edit(folder)
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
    edit(folder)
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


class Shifted(SemanticMatching):
    """A method of one's own, under no name."""

    def __init__(self, strength=0.1, scaling="auto", shift=0.0) -> None:
        super().__init__(strength, scaling)
        self.shift = shift

    def _embed(self, modality, rows):
        return super()._embed(modality, rows) + self.shift


class TestWithoutARegistryName:
    @pytest.mark.parametrize(
        ("made", "name"),
        [
            (SemanticMatching(strength=0.1), "sm"),
            (CCA(components=2), "cca"),
            (CCA(mode="paper"), "cca-paper"),
            (CFA(), "cfa"),
            (KCCA("rbf"), "kcca-rbf"),
            (KCCA("poly"), "kcca-poly"),
        ],
        ids=repr,
    )
    def test_a_method_made_from_its_class_is_found_by_its_variant(self, made, name, counts_dataset, tmp_path) -> None:
        made.fit(counts_dataset).save(tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        assert loaded.registry_name == name
        assert loaded.get_params() == made.get_params()
        rows = counts_dataset.split("test").features("image")
        np.testing.assert_array_equal(loaded.embed("image", rows), made.embed("image", rows))

    def test_every_name_is_found_from_its_class_and_parameters(self) -> None:
        for name in names():
            made = create(name)
            again = type(made)(**made.get_params())
            assert method_class(name_of(again)) is type(made)
            assert name_of(again) == name

    def test_a_class_of_ones_own_is_found_where_it_is_imported(self, counts_dataset, tmp_path, monkeypatch) -> None:
        method = Shifted(shift=2.0).fit(counts_dataset)
        method.save(tmp_path / "own")
        loaded = load_model(tmp_path / "own")
        assert isinstance(loaded, Shifted) and loaded.shift == 2.0
        rows = counts_dataset.split("test").features("text")
        np.testing.assert_array_equal(loaded.embed("text", rows), method.embed("text", rows))
        edit(tmp_path / "own", params={"depth": 1})
        with pytest.raises(ConfigError, match="Shifted has no parameter 'depth'"):
            load_model(tmp_path / "own")
        monkeypatch.delattr(sys.modules[Shifted.__module__], "Shifted")
        with pytest.raises(ConfigError, match="import that class before you open the model"):
            load_model(tmp_path / "own")

    @pytest.mark.parametrize("target", ["os:system", "antigravity:Method", "pathlib:Path", ":", "nonsense"])
    def test_a_file_makes_nothing_be_imported(self, method, folder, target) -> None:
        edit(folder, **{"method": "", "class": target})
        with pytest.raises(ConfigError, match="import that class before you open the model"):
            load_model(folder)
        assert "antigravity" not in sys.modules

    def test_a_class_that_cannot_be_found_again_is_refused(self, counts_dataset, tmp_path) -> None:
        class Local(Shifted):
            pass

        with pytest.raises(ConfigError, match="is defined inside a function"):
            Local().fit(counts_dataset).save(tmp_path / "local")
        assert not (tmp_path / "local").exists()
