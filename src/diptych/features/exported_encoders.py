"""Encoders whose files travel with a pipeline: their paths are names in its own folder."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from diptych.features.pipeline import Pipeline, load_pipeline

T = TypeVar("T")

FILE_EXTRACTORS = ("OnnxExtractor", "FolderImageExtractor", "FolderTextExtractor")
"""Extractors that read an encoder from a file of the user's."""


def changed_inside(value: T, change: Callable[[Any], Any]) -> T:
    """The same value with every dataclass in it as `change` gives it back; what it gives back anew is not looked into.

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
