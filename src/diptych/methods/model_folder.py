"""A model is a folder: `model.json` says what it is, `weights.safetensors` holds its arrays.

Where it learned from raw pictures and texts, `pipeline/` says how these became rows.
"""

import shutil
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError
from diptych._core.files import atomic_folder, read_json
from diptych._core.state import pack, unpack
from diptych._core.state_folder import FolderFormat, hash_state, to_weights, versions
from diptych.data.dataset import PIPELINE_FOLDER
from diptych.features import check_same_pipeline
from diptych.methods.base import Method
from diptych.methods.exported import is_exported, load_exported
from diptych.methods.registry import create, method_class

FORMAT = "diptych-model"
FORMAT_VERSION = 1
_MODEL = FolderFormat("model.json", FORMAT, FORMAT_VERSION, "model", "make one with `diptych fit`")


def save_model(method: Method, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted method as a folder, whole or not at all.

    Args:
        method: a fitted method that came from the registry; of one that chose another, the other is written.
        folder: where to put it.
        overwrite: replace an existing folder.
    """
    method = method.saved_as
    if not method.registry_name:
        raise ConfigError(f"this {type(method).__name__} has no name to be found by again; make it with create(name).")
    state, arrays = pack(method.learned_state())
    weights = to_weights(arrays)
    body = {"method": method.registry_name, "params": method.get_params(), "state": state, "versions": versions()}
    body |= {"fingerprint": _fingerprint(body, weights)}
    if method.pipeline_folder is None:
        _MODEL.write(folder, body, weights, overwrite=overwrite)
        return
    with atomic_folder(Path(folder), overwrite=overwrite) as temporary:
        _MODEL.write(temporary, body, weights, overwrite=True)
        _copy_pipeline(method.pipeline_folder, method.record_["pipeline"], temporary / PIPELINE_FOLDER)


def _copy_pipeline(source: Path, expected: str, target: Path) -> None:
    """Bring the pipeline along as it is, without opening it: what its features need is not needed to save."""
    found = read_json(source / "pipeline.json").get("fingerprint")
    check_same_pipeline(expected, found, remedy=f"{source} changed since the fit, so fit again")
    shutil.copytree(source, target)


def _fingerprint(body: dict[str, Any], weights: bytes) -> str:
    """Hash what decides the codes: not how long the fit took, nor where it ran."""
    params = {name: value for name, value in body["params"].items() if name not in ("cache", "device")}
    learned = {name: value for name, value in body["state"].items() if name != "record_"}
    return hash_state([body["method"], params, learned], weights)


def load_model(folder: str | Path) -> Method:
    """Open a saved or exported model; nothing in it is executed or unpickled.

    Parameters that the method had when the model was saved and has no longer are kept in `record_`.
    """
    if is_exported(folder):
        return load_exported(folder)
    body, arrays = _MODEL.read(folder)
    params, former = method_class(body["method"]).divide_saved(body["params"])
    method = create(body["method"], **params)
    for name, value in unpack(body["state"], arrays).items():
        setattr(method, name, value)
    if former:
        method.record_["former_parameters"] = former
    pipeline = Path(folder) / PIPELINE_FOLDER
    method.pipeline_folder = pipeline if pipeline.is_dir() else None
    return method


def model_fingerprint(folder: str | Path) -> str:
    """The fingerprint recorded in a model's folder."""
    return str(read_json(Path(folder) / _MODEL.document)["fingerprint"])
