"""What can go wrong around an export, and that nothing is left of one that failed."""

import json
import shutil
import sys

import numpy as np
import pytest

from diptych import export
from diptych._core.errors import ConfigError, DataError, FitError, optional_package
from diptych.export import export_model
from diptych.export.graph import Traced
from diptych.methods import Method, load_model, save_model
from diptych.methods.exported import FORMAT_VERSION


@pytest.fixture
def model(saved, counts_dataset):
    return saved("cca", counts_dataset)


@pytest.fixture
def exported(model, tmp_path):
    export_model(model, tmp_path / "exported")
    return tmp_path / "exported"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_export_is_the_same_bytes_each_time(model, exported, tmp_path) -> None:
    export_model(model, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(exported)


def test_binary_codes_come_along_as_a_graph_and_as_arrays(model, counts_dataset, tmp_path) -> None:
    fitted = load_model(model)
    save_model(fitted.binarise(64, counts_dataset), tmp_path / "binary")
    export_model(tmp_path / "binary", tmp_path / "exported")
    again = load_model(tmp_path / "exported")
    rows = counts_dataset.split("test").having("image").features("image")
    expected = fitted.embed_bits("image", rows)
    assert again.bits == 64 and (again.embed_bits("image", rows) != expected).mean() < 1e-3
    session = optional_package("onnxruntime", "a test", "onnx").InferenceSession(tmp_path / "exported" / "binary.onnx")
    (bits,) = session.run(None, {"rows": fitted.embed("image", rows)})
    assert set(np.unique(bits)) == {0.0, 1.0}
    assert (np.packbits(bits.astype(bool), axis=1, bitorder="little") != expected).mean() < 1e-3
    (tmp_path / "exported" / "binary.safetensors").write_bytes(b"something else")
    with pytest.raises(DataError, match="is not what was exported; export the model again"):
        load_model(tmp_path / "exported")


def test_a_graph_that_differs_is_not_written(model, tmp_path, monkeypatch) -> None:
    """The whole folder or nothing: a tracer that is off by a hair leaves no trace."""
    honest = export.trace_method
    monkeypatch.setattr(export, "trace_method", lambda *of: honest(*of) + 1e-3)
    with pytest.raises(DataError, match=r"graph of 'image' differs from the model by .*; nothing was exported"):
        export_model(model, tmp_path / "exported")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_check_leaves_what_was_there(model, exported, monkeypatch) -> None:
    before = contents(exported)
    monkeypatch.setattr(export, "trace_method", lambda method, modality: Traced.rows() * 0.0)
    with pytest.raises(DataError):
        export_model(model, exported, overwrite=True)
    assert contents(exported) == before
    assert [path.name for path in exported.parent.iterdir()] == ["exported"]


def test_only_an_export_is_overwritten(model, exported, tmp_path) -> None:
    with pytest.raises(DataError, match="already exists; choose another folder or pass --overwrite"):
        export_model(model, exported)
    export_model(model, exported, overwrite=True)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("dear")
    with pytest.raises(DataError, match="is not a model, so it is not overwritten"):
        export_model(model, tmp_path / "letters", overwrite=True)
    assert (tmp_path / "letters" / "one.txt").read_text() == "dear"
    (tmp_path / "empty").mkdir()
    export_model(model, tmp_path / "empty", overwrite=True)
    assert contents(tmp_path / "empty") == contents(exported)


def test_a_trained_model_is_never_overwritten(model, tmp_path) -> None:
    """An export cannot be fitted further: whoever loses the model to it has lost the training."""
    trained, other, alias = tmp_path / "trained", tmp_path / "other", tmp_path / "alias"
    shutil.copytree(model, trained)
    shutil.copytree(model, other)
    alias.symlink_to(trained)
    before = contents(trained)
    for target in (trained, alias, tmp_path / "other" / ".." / "trained", tmp_path):
        with pytest.raises(DataError, match=r"holds the model that is exported, .*; choose another folder"):
            export_model(trained, target, overwrite=True)
    with pytest.raises(DataError, match=r"holds a model that is no export, .*; choose another folder"):
        export_model(trained, other, overwrite=True)
    assert contents(trained) == contents(other) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alias", "other", "trained"]


def test_an_exported_model_is_not_exported_fitted_saved_or_changed(exported, counts_dataset, tmp_path) -> None:
    with pytest.raises(ConfigError, match="is an exported model already; copy the folder"):
        export_model(exported, tmp_path / "twice")
    loaded = load_model(exported)
    with pytest.raises(FitError, match="cannot be fitted; fit its method and export again"):
        loaded.fit(counts_dataset)
    with pytest.raises(ConfigError, match=r"copy .*exported instead of saving it"):
        save_model(loaded, tmp_path / "saved")
    with pytest.raises(ConfigError, match="has no parameters to set"):
        loaded.set_params(ridge=1.0)
    assert loaded.embed("text", np.ones((1, 20))).any()  # refused before anything was forgotten


def test_where_a_model_was_fitted_stays_behind(saved, counts_dataset, tmp_path) -> None:
    pytest.importorskip("torch")
    cache = tmp_path / "home" / "stages"
    model = saved("dcca", counts_dataset, cache=str(cache), device="cpu")
    export_model(model, tmp_path / "exported")
    assert str(tmp_path) not in (tmp_path / "exported" / "model.json").read_text()
    params = load_model(tmp_path / "exported").get_params()
    assert (params["cache"], params["device"], params["profile"]) == ("auto", "auto", "fast")


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(package, model, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    optional_package.cache_clear()
    with pytest.raises(ConfigError, match=rf"exporting needs {package}; install it with .*diptych\[onnx\]"):
        export_model(model, tmp_path / "exported")
    assert list(tmp_path.iterdir()) == []


def test_embedding_without_the_runtime_is_told(exported, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    optional_package.cache_clear()
    with pytest.raises(ConfigError, match=r"an exported model needs onnxruntime; install it with .*diptych\[onnx\]"):
        load_model(exported).embed("text", np.zeros((1, 20)))


def test_a_changed_graph_is_refused(exported) -> None:
    graph = exported / "text.onnx"
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 1
    graph.write_bytes(bytes(content))
    with pytest.raises(DataError, match=r"text\.onnx is not the graph that was exported; export the model again"):
        load_model(exported).embed("text", np.zeros((1, 20)))
    graph.unlink()
    with pytest.raises(DataError, match=r"text\.onnx cannot be read"):
        load_model(exported).embed("text", np.zeros((1, 20)))


def test_graphs_of_two_modalities_are_not_swapped(exported) -> None:
    shutil.copy(exported / "image.onnx", exported / "text.onnx")
    with pytest.raises(DataError, match="is not the graph that was exported"):
        load_model(exported).embed("text", np.zeros((1, 20)))


def test_another_version_of_the_format_is_refused(exported) -> None:
    document = exported / "model.json"
    document.write_text(json.dumps(json.loads(document.read_text()) | {"format_version": FORMAT_VERSION + 1}))
    with pytest.raises(DataError, match=rf"says version {FORMAT_VERSION + 1} .* reads version {FORMAT_VERSION}, so"):
        load_model(exported)


def test_a_dataset_adds_its_own_rows_to_the_check(model, counts_dataset, tmp_path) -> None:
    checks = export_model(model, tmp_path / "plain").checks
    assert {check.real for check in checks.values()} == {0}
    with_rows = export_model(model, tmp_path / "checked", dataset=counts_dataset).checks
    assert {check.real for check in with_rows.values()} == {len(counts_dataset)}
    assert all(with_rows[name].rows == checks[name].rows + len(counts_dataset) for name in checks)


def test_a_foreign_method_writes_its_own_graph_or_is_refused(counts_dataset, tmp_path, monkeypatch) -> None:
    class Doubling(Method):
        def __init__(self) -> None:
            """Nothing to set."""

        def _fit(self, data, progress) -> None:
            self.factor_ = 2.0

        def _embed(self, modality, rows):
            dense = np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float32)
            return self.factor_ * dense[:, :9]

    method = Doubling().fit(counts_dataset)
    method.registry_name = "doubling"
    save_model(method, tmp_path / "model")
    monkeypatch.setattr(export, "load_model", lambda folder: method)  # as if its package had registered it
    with pytest.raises(ConfigError, match=r"give Doubling a method `trace\(modality, rows\)`"):
        export_model(tmp_path / "model", tmp_path / "exported")
    first = np.eye(20, 9)
    monkeypatch.setattr(
        Doubling, "trace", lambda self, name, rows: rows @ first[: 12 if name == "image" else 20] * 2.0, raising=False
    )
    export_model(tmp_path / "model", tmp_path / "exported")
    np.testing.assert_array_equal(load_model(tmp_path / "exported").embed("image", np.ones((1, 12))), [[2.0] * 9])
