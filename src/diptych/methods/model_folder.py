"""A model is a folder: `model.json` says what it is, `weights.safetensors` holds its arrays."""

from pathlib import Path
from typing import Any

from diptych.atomic import read_json
from diptych.errors import ConfigError
from diptych.methods.base import Method
from diptych.methods.registry import create
from diptych.state import pack, unpack
from diptych.state_folder import FolderFormat, hash_state, to_weights, versions

FORMAT = "diptych-model"
FORMAT_VERSION = 1
_MODEL = FolderFormat("model.json", FORMAT, FORMAT_VERSION, "model", "make one with `diptych fit`")


def save_model(method: Method, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted method as a folder, whole or not at all.

    Args:
        method: a fitted method that came from the registry.
        folder: where to put it.
        overwrite: replace an existing folder.
    """
    if not method.registry_name:
        raise ConfigError(f"this {type(method).__name__} has no name to be found by again; make it with create(name).")
    state, arrays = pack(method.learned_state())
    weights = to_weights(arrays)
    body = {"method": method.registry_name, "params": method.get_params(), "state": state, "versions": versions()}
    _MODEL.write(folder, body | {"fingerprint": _fingerprint(body, weights)}, weights, overwrite=overwrite)


def _fingerprint(body: dict[str, Any], weights: bytes) -> str:
    """Hash what decides the codes: not how long the fit took, nor where it ran."""
    params = {name: value for name, value in body["params"].items() if name not in ("cache", "device")}
    learned = {name: value for name, value in body["state"].items() if name != "record_"}
    return hash_state([body["method"], params, learned], weights)


def load_model(folder: str | Path) -> Method:
    """Open a saved model; nothing in it is executed or unpickled."""
    body, arrays = _MODEL.read(folder)
    method = create(body["method"], **body["params"])
    for name, value in unpack(body["state"], arrays).items():
        setattr(method, name, value)
    return method


def model_fingerprint(folder: str | Path) -> str:
    """The fingerprint recorded in a model's folder."""
    return str(read_json(Path(folder) / _MODEL.document)["fingerprint"])
