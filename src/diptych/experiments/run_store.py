"""Keep finished runs on disk: `runs/<method>/<seed>/` holds the model, its scores and what they were made from."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from diptych._core.code_version import code_version
from diptych._core.errors import DataError
from diptych._core.files import atomic_folder, read_json, write_json
from diptych._core.state import pack, unpack
from diptych.data import Dataset
from diptych.evaluation import DirectionScores, InstanceScores
from diptych.experiments.model_scores import ModelScores
from diptych.experiments.recipe import Run
from diptych.methods.base import Method
from diptych.methods.model_folder import save_model


@dataclass(frozen=True)
class FinishedRun:
    """A run and what came of it.

    Attributes:
        run: what was asked for.
        params: every parameter of the method, defaults included.
        record: what the fit wrote down: protocol, selection, seconds.
        scores: on the split.
    """

    run: Run
    params: Mapping[str, Any]
    record: Mapping[str, Any]
    scores: ModelScores


def inputs_of(run: Run, dataset: Dataset, split: str, modalities: tuple[str, ...]) -> dict[str, Any]:
    """Everything a run's result depends on, by a name fit for a sentence."""
    method = run.create()
    content = {
        "dataset": dataset.fingerprint,
        "method": run.method,
        "params": method.plain_params(),
        "protocol": run.protocol.to_json(),
        "modalities": list(modalities),
        "split": split,
        "version of diptych": version("diptych"),
        "method's code": code_version(type(method).__module__),
        "evaluation's code": code_version("diptych.experiments.model_scores"),
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))  # tuples become lists, as they will on disk
    return plain


def key_of(inputs: Mapping[str, Any]) -> str:
    """A short hash of a run's inputs."""
    return hashlib.blake2b(json.dumps(inputs, sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class RunStore:
    """The runs of one report's folder."""

    folder: Path

    def place(self, run: Run) -> Path:
        """Where a run is kept."""
        return self.folder / run.method / str(run.seed)

    def look_up(self, run: Run, inputs: Mapping[str, Any]) -> FinishedRun | str | None:
        """A finished run with these inputs; why the one that is there does not serve; None when there is none."""
        place = self.place(run)
        if not place.exists():
            return None
        try:
            body = read_json(place / "run.json")
            if body["key"] != key_of(inputs):
                changed = [name for name, value in inputs.items() if body["inputs"].get(name) != value]
                return f"the {' and the '.join(changed) or 'key'} changed"
            return FinishedRun(run, body["params"], unpack(body["record"], {}), read_scores(place))
        except (DataError, KeyError, TypeError, AttributeError) as error:
            return f"the stored run cannot be read ({error})"

    def write(self, run: Run, inputs: Mapping[str, Any], method: Method, scores: ModelScores) -> FinishedRun:
        """Keep a run, whole or not at all, in place of any earlier one."""
        record = method.record_
        with atomic_folder(self.place(run), overwrite=True) as temporary:
            save_model(method, temporary / "model")
            write_scores(temporary, scores)
            body = {"key": key_of(inputs), "inputs": inputs, "params": inputs["params"], "record": pack(record)[0]}
            write_json(temporary / "run.json", {"method": run.method, "seed": run.seed} | body)
        return FinishedRun(run, inputs["params"], record, scores)

    def sweep(self) -> None:
        """Remove what a killed process left half-written."""
        for leftover in self.folder.glob("*/.*"):
            shutil.rmtree(leftover, ignore_errors=True)


T = TypeVar("T", DirectionScores, InstanceScores)


def write_scores(folder: Path, scores: ModelScores) -> None:
    """Write all scores, per query and direction, into a folder."""
    content = vars(scores) | {
        part: {name: dict(vars(each)) for name, each in getattr(scores, part).items()}
        for part in ("directions", "normalised", "instance")
    }
    body, arrays = pack(content)
    with (folder / "scores.npz").open("wb") as file:
        np.savez_compressed(file, *arrays.values())
    write_json(folder / "scores.json", {"arrays": list(arrays), "scores": body})


def read_scores(folder: Path) -> ModelScores:
    """Read what `write_scores` wrote.

    Raises:
        DataError: when a file is missing or broken.
    """
    body = read_json(folder / "scores.json")
    try:
        with np.load(folder / "scores.npz", allow_pickle=False) as stored:
            arrays = {name: stored[f"arr_{number}"] for number, name in enumerate(body["arrays"])}
        content = unpack(body["scores"], arrays)
        content["directions"] = _build(DirectionScores, content["directions"])
        content["normalised"] = _build(DirectionScores, content["normalised"])
        content["instance"] = _build(InstanceScores, content["instance"])
        return ModelScores(**content)
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"the scores in {folder} cannot be read ({error}).") from None


def _build(kind: type[T], content: Mapping[str, Mapping[str, Any]]) -> dict[str, T]:
    return {name: kind(**each) for name, each in content.items()}
