"""Texts and media files from outside as rows of features and as vectors of the shared space."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Features, Singles
from diptych._core.errors import ConfigError, DataError, DiptychError
from diptych._core.files import read_json
from diptych.features import ignored_words, is_whole_word
from diptych.media import MediaError, MediaLimits, media_kind
from diptych.methods import Method
from diptych.methods.purposes import Purpose

_log = logging.getLogger("diptych.search")
_LONGEST_TEXT = 100_000
_SHOWN = 40


@dataclass(frozen=True)
class Embedded:
    """Items from outside, embedded.

    Attributes:
        vectors: of the shared space, one row an item.
        problems: what is wrong with an item that has no direction there; None where all is well.
        features: the rows they were made of.
    """

    vectors: Singles
    problems: list[DataError | None]
    features: Features


class RawEmbedder:
    """Reads and embeds raw items by a model's own pipeline."""

    def __init__(self, model: Method, purpose: Purpose = "auto") -> None:
        self._model = model
        self._purpose = purpose

    def warm(self) -> None:
        """Run the pipeline of every modality once, so that no first query waits while networks load.

        One that fails, such as an encoder whose file is missing, does not keep the others from being run.
        """
        for media_type, names in self.media().items():
            for name in names:
                try:
                    self.embed(name, ["a" if media_type == "text" else media_kind(media_type).load().blank()])
                except DiptychError as error:
                    _log.warning("this index cannot be asked with a new %s: %s", media_type, error)

    def media(self) -> dict[str, list[str]]:
        """The modalities of each media type that can be asked with; empty for a model that learned from numbers."""
        if self._model.pipeline_folder is None:
            return {}
        found: dict[str, list[str]] = {}
        for name in self._model.modalities:
            found.setdefault(self._model.pipeline.of(name).media_type, []).append(name)
        return found

    def modality_of(self, media_type: str) -> str:
        """The modality of a media type."""
        media = self.media()
        if not media:
            raise ConfigError(
                "this index's model learned from rows that came as numbers, so it reads no texts and files; "
                "ask by an item of the index, or make the dataset with `diptych ingest`."
            )
        fitting = media.get(media_type, [])
        if len(fitting) != 1:
            raise ConfigError(f"this index has {len(fitting)} modalities of {media_type}; it takes {', '.join(media)}.")
        return fitting[0]

    def read(self, media_type: str, value: Any) -> Any:  # noqa: ANN401 - text, bytes, a path or a decoded item
        """Check one raw item and decode it, so that embedding it cannot fail for its content.

        A file is only opened when its name is a `Path`: a string may come from a client.
        """
        if media_type == "text":
            return _checked_text(value)
        if isinstance(value, np.ndarray):
            return value
        if isinstance(value, Path):
            return decoded(read_file(value), value.name, media_type)
        if isinstance(value, bytes):
            return decoded(value, kind=media_type)
        noun = media_kind(media_type).noun
        raise ConfigError(f"{noun} is a {type(value).__name__}; give the bytes of a file, or its Path.")

    def features(self, modality: str, items: Sequence[Any]) -> Features:
        """The rows of features of items that `read` has checked."""
        rows: Features = self._model.pipeline(modality, items)
        return rows

    def embed(self, modality: str, items: Sequence[Any]) -> Embedded:
        """Embed items that `read` has checked; an item without content has an error beside its vector."""
        rows = self.features(modality, items)
        vectors = self._model.embed(modality, rows, self._purpose)
        known = has_content(rows) if self._model.pipeline.of(modality).media_type == "text" else [True] * len(items)
        problems: list[DataError | None] = []
        for item, vector, anything in zip(items, vectors, known, strict=True):
            if not anything:
                problems.append(
                    DataError(f"the index has none of the words {_short(item)} in its vocabulary; use others.")
                )
            elif not vector.any() or not np.isfinite(vector).all():
                problems.append(DataError(f"this index's model can make nothing of this {modality}; try another."))
            else:
                problems.append(None)
        return Embedded(vectors, problems, rows)

    def ignored_words(self, modality: str, text: str) -> tuple[str, ...]:
        """The words of a text that the feature extractor cannot use."""
        return ignored_words(self._model.pipeline.of(modality), text)

    def is_word(self, modality: str, word: str) -> bool:
        """Whether the text encoder's vocabulary holds a word as a whole, so that it is hardly misspelled."""
        return is_whole_word(self._model.pipeline.of(modality), word)


def _checked_text(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"the text is {value!r:.40}; give one that is not empty.")
    if len(value) > _LONGEST_TEXT:
        raise ConfigError(f"the text has {len(value):,} characters; at most {_LONGEST_TEXT:,} are read.")
    return value


def media_type_of(model: Method, modality: str) -> str | None:
    """What the items of a modality are, by the pipeline's head alone: opening all of it may take long."""
    if model.pipeline_folder is None:
        return None
    media = read_json(model.pipeline_folder / "pipeline.json")["modalities"]
    return str(media[modality]["medium"]) if modality in media else None


def has_content(rows: Features) -> list[bool]:
    """Which rows hold anything at all: a text of unknown words does not."""
    if isinstance(rows, np.ndarray):
        return [bool(row.any()) for row in rows]
    return [bool(rows.data[a:b].any()) for a, b in pairwise(rows.indptr)]


def _short(words: str) -> str:
    return repr(words if len(words) <= _SHOWN else words[:_SHOWN] + "…")


LARGEST_FILE = 200 * 2**20


def decoded(data: bytes, name: str = "the given bytes", kind: str = "image") -> NDArray[Any]:
    """The decoded content of a file of a kind of media.

    Raises:
        DataError: when it is none, or one too large; the message calls it by the name given.
    """
    of = media_kind(kind)
    try:
        return of.load().decode(data, MediaLimits())
    except MediaError as error:
        raise DataError(f"{name}: {error}; give {of.noun}.") from None


def read_file(path: Path) -> bytes:
    """A file's content; the message of a failure holds its name, not its place."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise DataError(f"{path.name} cannot be read ({error.strerror}); give the path of a file.") from None
    if len(data) > LARGEST_FILE:
        raise DataError(f"{path.name} has more than {LARGEST_FILE:,} bytes; give a smaller file.")
    return data
