"""A model is a folder: `model.json` says what it is, `weights.safetensors` holds its arrays.

Where it learned from raw images and texts, `pipeline/` says how these became rows.
"""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError, DataError
from diptych._core.files import atomic_folder, read_json
from diptych._core.state import WEIGHTS, FolderFormat, hash_state, pack, to_weights, unpack, versions
from diptych.data.dataset_files import PIPELINE_FOLDER
from diptych.features import check_same_pipeline, load_pipeline
from diptych.methods.base import Method, check_loaded, is_learned
from diptych.methods.binary_codes import check_codes
from diptych.methods.exported import exported_problems, is_exported, load_exported
from diptych.methods.registry import create, method_class, name_of
from diptych.methods.selection import check_names

FORMAT = "diptych-model"
FORMAT_VERSION = 1
MODEL_FORMAT = FolderFormat("model.json", FORMAT, FORMAT_VERSION, "model", "make one with `diptych fit`")


def save_model(method: Method, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a fitted method as a folder, completely or not at all.

    Args:
        method: a fitted method; for `Auto`, the chosen method is written. A method whose class is not registered is
            stored by its class name, and can be opened wherever that class has been imported.
        folder: where to put it.
        overwrite: replace an existing folder.
    """
    method = method.saved_as
    named = {"method": name} if (name := name_of(method)) else {"method": "", "class": _class_name(type(method))}
    state, arrays = pack(method.learned_state())
    weights = to_weights(arrays)
    body = named | {"params": method.plain_params(), "state": state, "versions": versions()}
    body |= {"fingerprint": _fingerprint(body, weights)}
    if method.pipeline_folder is None:
        MODEL_FORMAT.write(folder, body, weights, overwrite=overwrite)
        return
    with atomic_folder(Path(folder), overwrite=overwrite) as temporary:
        MODEL_FORMAT.write(temporary, body, weights, overwrite=True)
        _copy_pipeline(method.pipeline_folder, method.record_["pipeline"], temporary / PIPELINE_FOLDER)


def _copy_pipeline(source: Path, expected: str, target: Path) -> None:
    """Bring the pipeline along as it is, without opening it: what its features need is not needed to save."""
    found = read_json(source / "pipeline.json").get("fingerprint")
    check_same_pipeline(expected, found, remedy=f"{source} changed since the fit, so fit again")
    shutil.copytree(source, target)


def _fingerprint(body: dict[str, Any], weights: bytes) -> str:
    """Hash what decides the embeddings: not how long the fit took, nor where it ran."""
    params = {name: value for name, value in body["params"].items() if name not in ("cache", "device")}
    learned = {name: value for name, value in body["state"].items() if name != "record_"}
    return hash_state([body["method"] or body["class"], params, learned], weights)


def _class_name(cls: type[Method]) -> str:
    """How a class that is in no registry is found again: "module:Class"."""
    if "." in cls.__qualname__:
        raise ConfigError(
            f"{cls.__qualname__} is defined inside a function or a class, so it cannot be found again; define it at "
            "the top level of a module, or register it under the entry points 'diptych.methods'."
        )
    return f"{cls.__module__}:{cls.__name__}"


def _imported_class(target: str) -> type[Method]:
    """A class that was imported before; nothing is imported because a file says so."""
    module, _, name = target.partition(":")
    found = getattr(sys.modules.get(module), name, None)
    if not isinstance(found, type) or not issubclass(found, Method):
        raise ConfigError(
            f"this model is of the class '{name}' of the module '{module}', which is no registered method; import "
            "that class before you open the model."
        )
    return found


def load_model(folder: str | Path) -> Method:
    """Open a saved or exported model; nothing in it is imported, executed or unpickled.

    Parameters that the method no longer has are kept in `record_`.

    Raises:
        DataError: if the folder is not a model, or was damaged.
        ConfigError: for a method or a parameter that this version does not have.
    """
    if is_exported(folder):
        return load_exported(folder)
    body, arrays = MODEL_FORMAT.read(folder)
    with MODEL_FORMAT.reading(folder):
        method, former = _made_as_saved(body)
        for name, value in unpack(body["state"], arrays).items():
            if not is_learned(name):
                raise ValueError(f"{name!r} is nothing that a method learns")
            setattr(method, name, value)
        check_loaded(method)
        check_codes(method)
        if former:
            method.record_["former_parameters"] = former
    pipeline = Path(folder) / PIPELINE_FOLDER
    method.pipeline_folder = pipeline if pipeline.is_dir() else None
    method.was_loaded = True
    return method


def _made_as_saved(body: Mapping[str, Any]) -> tuple[Method, dict[str, Any]]:
    """A method with the parameters that a model names, and those of them that it has no longer."""
    foreign = None if body["method"] else _imported_class(body["class"])
    params, former = (foreign or method_class(body["method"])).divide_saved(body["params"])
    if foreign is None:
        return create(body["method"], **params), former
    check_names(foreign.__name__, params, list(foreign.parameter_defaults()))
    return foreign(**params), former


def model_problems(folder: str | Path) -> list[str]:
    """Read a saved or exported model and compare it with its fingerprint and hashes, its pipeline included.

    Returns:
        What is wrong, one sentence each; empty if nothing is.
    """
    path = Path(folder)
    try:
        problems = exported_problems(path) if is_exported(path) else _saved_problems(path)
        pipeline = path / PIPELINE_FOLDER
        if pipeline.is_dir() and not is_exported(path):  # of an exported one, paths are part of the fingerprint
            load_pipeline(pipeline)
    except DataError as error:
        return [str(error)]
    return problems


def _saved_problems(folder: Path) -> list[str]:
    body, _ = MODEL_FORMAT.read(folder)
    try:
        intact = _fingerprint(body, (folder / WEIGHTS).read_bytes()) == body["fingerprint"]
    except (KeyError, TypeError, AttributeError):
        intact = False
    return [] if intact else [f"{folder} is not the model that was saved: its content does not have its fingerprint."]


def model_fingerprint(folder: str | Path) -> str:
    """The fingerprint recorded in a model's folder."""
    body = read_json(Path(folder) / MODEL_FORMAT.document)
    with MODEL_FORMAT.reading(folder):
        return str(body["fingerprint"])


def method_name(folder: str | Path) -> str:
    """The name of the method recorded in a model's folder; that of its class where it has no other."""
    body = read_json(Path(folder) / MODEL_FORMAT.document)
    with MODEL_FORMAT.reading(folder):
        return str(body["method"] or body["class"])
