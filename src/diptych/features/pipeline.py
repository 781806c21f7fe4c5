"""The pipeline: how raw pictures and texts became rows, kept so that it can travel with a model.

A model that learned from rows is of no use to new pictures unless they become rows in exactly the same way.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from diptych._core.arrays import Features
from diptych._core.errors import ConfigError, DataError
from diptych._core.progress import Progress, silent
from diptych._core.state import pack, stateful, unpack
from diptych._core.state_folder import FolderFormat, hash_state, to_weights, versions
from diptych.data.dataset import Dataset
from diptych.features.contract import Extractor
from diptych.features.raw_items import read_items
from diptych.features.registry import import_features, make_feature

_PIPELINE = FolderFormat("pipeline.json", "diptych-pipeline", 1, "pipeline", "make one from raw pictures and texts")


@stateful
@dataclass(frozen=True, eq=False)
class FittedModality:
    """How one modality's items become rows.

    Attributes:
        medium: what its items are: "image" or "text".
        features: the features as the user wrote them, such as "nuswide" or "bow:1000".
        extractor: the fitted feature.
    """

    medium: str
    features: str
    extractor: Extractor[Any]


@stateful
@dataclass(frozen=True, eq=False)
class Pipeline:
    """How the items of each modality become rows.

    Attributes:
        modalities: by the modality's name.
    """

    modalities: dict[str, FittedModality]

    def __call__(self, modality: str, items: Sequence[Any]) -> Features:
        """One row for each item of a modality."""
        return self.of(modality).extractor(items)

    def describe(self, modality: str, raw: Any) -> Features:  # noqa: ANN401 - see `read_items`
        """One row for each raw item of a modality: paths or pictures, or strings."""
        part = self.of(modality)
        return part.extractor(read_items(part.medium, raw))

    def of(self, modality: str) -> FittedModality:
        """How one modality's items become rows."""
        if modality not in self.modalities:
            known = ", ".join(self.modalities) or "nothing"
            raise ConfigError(f"this pipeline knows nothing of '{modality}'; it makes rows of {known}.")
        return self.modalities[modality]

    @cached_property
    def fingerprint(self) -> str:
        """One hash of all it holds: equal fingerprints make equal rows."""
        state, arrays = pack(self)
        return hash_state(state, to_weights(arrays))


def fit_pipeline(
    features: Mapping[str, tuple[str, str]],
    items: Mapping[str, Iterable[Any]],
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> Pipeline:
    """Learn a pipeline from training items.

    Args:
        features: for each modality its medium and its features as a user writes them.
        items: the training items of each modality, streamed once.
        seed: of what is drawn at random on the way.
        progress: told how far it is.
    """
    makers = {modality: make_feature(medium, written) for modality, (medium, written) in features.items()}
    missing = [modality for modality in makers if modality not in items]
    if missing:
        raise ConfigError(f"there are features for '{missing[0]}' but no items of it; give both or neither.")
    return Pipeline(
        {
            modality: FittedModality(*features[modality], make.fit(items[modality], seed=seed, progress=progress))
            for modality, make in makers.items()
        }
    )


def save_pipeline(pipeline: Pipeline, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a pipeline as a folder, whole or not at all."""
    state, arrays = pack(pipeline)
    written = {name: {"medium": part.medium, "features": part.features} for name, part in pipeline.modalities.items()}
    body = {
        "fingerprint": pipeline.fingerprint,
        "modalities": written,
        "state": state,
        "versions": versions(),
    }
    _PIPELINE.write(folder, body, to_weights(arrays), overwrite=overwrite)


def load_pipeline(folder: str | Path) -> Pipeline:
    """Open a saved pipeline; nothing in it is executed or unpickled."""
    body, arrays = _PIPELINE.read(folder)
    for part in body["modalities"].values():
        import_features(part["medium"], part["features"])
    pipeline = unpack(body["state"], arrays)
    if not isinstance(pipeline, Pipeline) or pipeline.fingerprint != body["fingerprint"]:
        raise DataError(f"{folder} is not what was saved: its content does not have the fingerprint it names.")
    return pipeline


def pipeline_of(dataset: Dataset) -> Pipeline | None:
    """The pipeline that made a dataset's rows, None where they came as numbers."""
    if dataset.pipeline_folder is None or dataset.pipeline_fingerprint is None:
        return None
    pipeline = load_pipeline(dataset.pipeline_folder)
    if pipeline.fingerprint != dataset.pipeline_fingerprint:
        raise DataError(f"{dataset.pipeline_folder} is not the pipeline that made {dataset.path}; ingest again.")
    return pipeline


def check_same_pipeline(model: str, rows: str, *, remedy: str = "extract the rows again with the model's own") -> None:
    """Refuse rows that were not made as the model's were.

    Args:
        model: the fingerprint of the pipeline that made what the model learned from.
        rows: the fingerprint of the pipeline that made these rows.
        remedy: what to do about it.
    """
    if model != rows:
        raise DataError(f"this model was made by pipeline {model} and these rows by pipeline {rows}; {remedy}.")
