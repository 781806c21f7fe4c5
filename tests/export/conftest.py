"""Models to export: quick ones of every method, and one that reads real pictures."""

import pytest

import synthetic
from diptych.data import Dataset
from diptych.methods import create, method_class, save_model

_QUICK = {"profile": "fast", "device": "cpu", "cache": None}


@pytest.fixture(scope="session", autouse=True)
def _packages() -> None:
    for name in ("onnx", "onnxruntime"):
        pytest.importorskip(name, reason="the extra 'onnx' is not installed")


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Fit a method by name on a dataset and save it, once: the model's folder."""
    folder, done = tmp_path_factory.mktemp("models"), {}

    def fit(name: str, dataset: Dataset, **params):
        key = (name, dataset.fingerprint, *sorted(params.items()))
        if key not in done:
            known = method_class(name).parameter_defaults()
            given = {key: value for key, value in _QUICK.items() if key in known} | params
            done[key] = folder / f"{name}-{len(done)}"
            save_model(create(name, **given).fit(dataset), done[key])
        return done[key]

    return fit


@pytest.fixture(scope="session")
def mixed_dataset(tmp_path_factory) -> Dataset:
    """Texts with counts and dense columns side by side."""
    return synthetic.write(tmp_path_factory.mktemp("data") / "mixed", synthetic.draft(mixed_text=True, seed=5))
