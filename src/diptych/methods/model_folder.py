"""A model is a folder: `model.json` says what it is, `weights.safetensors` holds its arrays."""

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from diptych.atomic import atomic_folder, read_json, write_json
from diptych.errors import ConfigError, DataError
from diptych.methods.base import Method
from diptych.methods.registry import create
from diptych.state import pack, unpack

FORMAT = "diptych-model"
FORMAT_VERSION = 1


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
    weights = save(arrays)
    body = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "method": method.registry_name,
        "params": method.get_params(),
        "state": state,
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("diptych", "numpy", "scipy")},
    }
    fingerprint = _fingerprint(body, weights)
    with atomic_folder(Path(folder), overwrite=overwrite) as temporary:
        (temporary / "weights.safetensors").write_bytes(weights)
        write_json(temporary / "model.json", body | {"fingerprint": fingerprint})


def _fingerprint(body: dict[str, Any], weights: bytes) -> str:
    """Hash what decides the codes: not how long the fit took, nor where it ran."""
    params = {name: value for name, value in body["params"].items() if name not in ("cache", "device")}
    learned = {name: value for name, value in body["state"].items() if name != "record_"}
    digest = hashlib.blake2b(json.dumps([body["method"], params, learned], sort_keys=True).encode(), digest_size=16)
    digest.update(weights)
    return digest.hexdigest()


def load_model(folder: str | Path) -> Method:
    """Open a saved model; nothing in it is executed or unpickled."""
    path = Path(folder)
    if not (path / "model.json").exists():
        raise DataError(f"{path} holds no model.json, so it is not a model; make one with `diptych fit`.")
    body = read_json(path / "model.json")
    if body.get("format") != FORMAT or body.get("format_version") != FORMAT_VERSION:
        raise DataError(
            f"{path / 'model.json'} says format {body.get('format')!r} version {body.get('format_version')!r}; "
            f"this diptych reads {FORMAT!r} version {FORMAT_VERSION}."
        )
    try:
        arrays = load_file(path / "weights.safetensors")
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path / 'weights.safetensors'} cannot be read ({error}); fit the model again.") from None
    method = create(body["method"], **body["params"])
    for name, value in unpack(body["state"], arrays).items():
        setattr(method, name, value)
    return method


def model_fingerprint(folder: str | Path) -> str:
    """The fingerprint recorded in a model's folder."""
    return str(read_json(Path(folder) / "model.json")["fingerprint"])
