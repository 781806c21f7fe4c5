"""The pipeline: the fitted features that turn raw images and texts into rows, saved with a model.

A model that learned from rows is of no use to new images unless they become rows in exactly the same way.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from diptych._core.arrays import Features
from diptych._core.errors import ConfigError, DataError, optional_package
from diptych._core.progress import Progress, silent
from diptych._core.state import FolderFormat, hash_state, pack, stateful, to_weights, unpack, versions
from diptych.data.dataset import Dataset
from diptych.features.contract import ComposedExtractor, Extractor, width
from diptych.features.registry import import_features, make_feature
from diptych.media import MediaError, MediaLimits, media_kind, read_raw

T = TypeVar("T")
FILE_EXTRACTORS = ("OnnxExtractor", "FolderImageExtractor", "FolderAudioExtractor", "FolderTextExtractor")
"""Extractors that read an encoder from a file of the user's."""

_PIPELINE = FolderFormat("pipeline.json", "diptych-pipeline", 1, "pipeline", "make one from raw images and texts")


@stateful
@dataclass(frozen=True, eq=False)
class FittedModality:
    """How one modality's items become rows.

    Attributes:
        media_type: what its items are: "text", or a kind of media such as "image" or "audio".
        features: the features as the user wrote them, such as "nuswide" or "bow:1000".
        extractor: the fitted feature.
    """

    media_type: str = field(metadata={"stored": "medium"})
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
        """Extract one row for each item of a modality."""
        return self.of(modality).extractor(items)

    def describe(self, modality: str, raw: Any) -> Features:  # noqa: ANN401 - see `read_items`
        """Extract one row for each raw item of a modality: paths or images, or strings."""
        part = self.of(modality)
        return part.extractor(read_items(part.media_type, raw))

    def of(self, modality: str) -> FittedModality:
        """Return the fitted features of one modality."""
        if modality not in self.modalities:
            known = ", ".join(self.modalities) or "nothing"
            raise ConfigError(f"this pipeline has no modality '{modality}'; it makes rows of {known}.")
        return self.modalities[modality]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the whole state: equal fingerprints make equal rows."""
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
        features: for each modality its media type and its features as a user writes them.
        items: the training items of each modality, streamed once.
        seed: of what is drawn at random on the way.
        progress: called with the progress.
    """
    makers = {modality: make_feature(media_type, written) for modality, (media_type, written) in features.items()}
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
    written = {
        name: {"medium": part.media_type, "features": part.features} for name, part in pipeline.modalities.items()
    }
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
    try:
        for part in body["modalities"].values():
            import_features(part["medium"], part["features"])
        pipeline = unpack(body["state"], arrays)
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{folder} is no pipeline that can be read ({error!r}); make it again.") from None
    if not isinstance(pipeline, Pipeline) or pipeline.fingerprint != body.get("fingerprint"):
        raise DataError(f"{folder} is not what was saved: its content does not have the fingerprint it names.")
    return pipeline


def pipeline_of(dataset: Dataset) -> Pipeline | None:
    """Open the pipeline that made a dataset's rows; None where they came as numbers."""
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


def changed_inside(value: T, change: Callable[[Any], Any]) -> T:
    """Replace every dataclass inside a value by what `change` returns for it; what is new is not looked into.

    >>> changed_inside((1, {"a": (2,)}), lambda part: part)
    (1, {'a': (2,)})
    """
    if isinstance(value, tuple):
        return type(value)(changed_inside(part, change) for part in value)
    if isinstance(value, dict):
        return type(value)({key: changed_inside(part, change) for key, part in value.items()})
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed: T = change(value)
    if changed is not value:
        return changed
    return replace(value, **{field.name: changed_inside(getattr(value, field.name), change) for field in fields(value)})


def load_located_pipeline(folder: Path) -> tuple[Pipeline, str]:
    """Load a pipeline whose encoders lie in its own folder.

    Returns:
        The pipeline ready to be used, and its fingerprint as it was written: paths are part of it.
    """

    def located(part: Any) -> Any:  # noqa: ANN401 - any dataclass of a pipeline
        # By name, for a pipeline of texts needs nothing of what the modules of images import.
        if type(part).__name__ not in FILE_EXTRACTORS:
            return part
        here = replace(part, path=str(folder / Path(part.path).name))
        if type(part).__name__ == "FolderTextExtractor":
            return replace(here, rule=replace(part.rule, path=str(folder / Path(part.rule.path).name)))
        return here

    written = load_pipeline(folder)
    return changed_inside(written, located), written.fingerprint


def read_items(media_type: str, raw: Any) -> list[Any]:  # noqa: ANN401 - whatever stands for an item
    """Read and check one raw item or several, as features take them.

    Args:
        media_type: "text" takes strings; a kind of media such as "image" or "audio" takes paths, the bytes of a file
            and decoded items as arrays, and "image" also Pillow images.
        raw: one of these, or a sequence of them.

    Raises:
        DataError: when a file is missing or not of its kind; the message names it.
    """
    several = isinstance(raw, Sequence) and not isinstance(raw, str | bytes)
    return [_read_item(media_type, item) for item in (raw if several else [raw])]


def _read_item(media_type: str, item: Any) -> Any:  # noqa: ANN401
    if media_type == "text":
        if not isinstance(item, str):
            raise DataError(f"a text is a {type(item).__name__}; give a string.")
        return item
    kind = media_kind(media_type)
    if isinstance(item, np.ndarray):
        return item
    if media_type == "image":
        optional_package("PIL", "reading images", "images")
        from diptych.media.decoding import read_image

        return read_image(item)
    name, data = read_raw(item, kind.noun)
    try:
        return kind.load().decode(data, MediaLimits())
    except MediaError as error:
        raise DataError(f"{name}: {error}; give {kind.noun}.") from None


def ignored_words(part: FittedModality, text: str) -> tuple[str, ...]:
    """Return the words of a text that its extractor cannot use, in order and once each.

    A word is ignored by features side by side only if every one of them ignores it.
    """
    words = dict.fromkeys(filter(None, (_bare(chunk) for chunk in text.split())))
    return tuple(word for word in words if not _knows(part.extractor, word))


def is_whole_word(part: FittedModality, word: str) -> bool:
    """Return whether a pretrained encoder's vocabulary holds a word as a whole; False without one."""
    return any(inner.has_word(word) for inner in _parts(part.extractor) if hasattr(inner, "has_word"))


def text_encoder_columns(part: FittedModality) -> slice | None:
    """Return the columns of a text's row that a pretrained encoder made, of length one together; None without one."""
    start = 0
    for extractor in _parts(part.extractor):
        stop = start + width(extractor.blocks)
        if part.media_type == "text" and getattr(extractor, "encodes", False):
            return slice(start, stop)
        start = stop
    return None


def _parts(extractor: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if not isinstance(extractor, ComposedExtractor):
        return (extractor,)
    return tuple(inner for part in extractor.parts for inner in _parts(part))


def _knows(extractor: Any, word: str) -> bool:  # noqa: ANN401
    """Whether some part can use a word; a feature without a vocabulary is taken to use all."""
    return any(part.knows(word) if hasattr(part, "knows") else True for part in _parts(extractor))


def _bare(chunk: str) -> str:
    """A chunk of text without punctuation around it."""
    start, stop = 0, len(chunk)
    while start < stop and unicodedata.category(chunk[start])[0] == "P":
        start += 1
    while stop > start and unicodedata.category(chunk[stop - 1])[0] == "P":
        stop -= 1
    return chunk[start:stop]
