"""Scores as files: `scores.json` and `scores.npz`, without pickling."""

import zipfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from diptych._core.errors import DataError
from diptych._core.files import read_json, write_json
from diptych._core.state import pack, unpack
from diptych.evaluation import DirectionScores, InstanceScores
from diptych.experiments.evaluate_model import ModelScores

T = TypeVar("T", DirectionScores, InstanceScores)


def write_scores(folder: Path, scores: ModelScores) -> None:
    """Write all scores, per query and direction, into a folder."""
    content = _shallow(scores) | {
        "directions": {name: _shallow(each) for name, each in scores.directions.items()},
        "normalised": {name: _shallow(each) for name, each in scores.normalised.items()},
        "instance": {name: _shallow(each) for name, each in scores.instance.items()},
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


def _shallow(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any dataclass of scores
    return {each.name: getattr(value, each.name) for each in fields(value)}


def _build(kind: type[T], content: Mapping[str, Mapping[str, Any]]) -> dict[str, T]:
    return {name: kind(**each) for name, each in content.items()}
