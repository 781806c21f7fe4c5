"""What a fitted text feature can read: the words it cannot use, and the columns that a pretrained encoder made."""

import unicodedata
from typing import Any

from diptych.features.composition import ComposedExtractor
from diptych.features.contract import width
from diptych.features.pipeline import FittedModality


def ignored_words(part: FittedModality, text: str) -> tuple[str, ...]:
    """The words of a typed text that its extractor cannot use, in order and once each.

    A word is ignored by features side by side only if every one of them ignores it.
    """
    words = dict.fromkeys(filter(None, (_bare(chunk) for chunk in text.split())))
    return tuple(word for word in words if not _knows(part.extractor, word))


def is_whole_word(part: FittedModality, word: str) -> bool:
    """Whether a pretrained encoder's vocabulary holds a word as a whole; False where there is no such encoder."""
    return any(inner.has_word(word) for inner in _parts(part.extractor) if hasattr(inner, "has_word"))


def text_encoder_columns(part: FittedModality) -> slice | None:
    """The columns of a text's row that a pretrained encoder made, of length one together; None where there are none."""
    start = 0
    for extractor in _parts(part.extractor):
        stop = start + width(extractor.blocks)
        if part.medium == "text" and getattr(extractor, "encodes", False):
            return slice(start, stop)
        start = stop
    return None


def _parts(extractor: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if not isinstance(extractor, ComposedExtractor):
        return (extractor,)
    return tuple(inner for part in extractor.parts for inner in _parts(part))


def _knows(extractor: Any, word: str) -> bool:  # noqa: ANN401
    """Whether some part can use a word; a feature that does not say which words it knows is taken to know all."""
    return any(part.knows(word) if hasattr(part, "knows") else True for part in _parts(extractor))


def _bare(chunk: str) -> str:
    """A chunk of text without punctuation around it."""
    start, stop = 0, len(chunk)
    while start < stop and unicodedata.category(chunk[start])[0] == "P":
        start += 1
    while stop > start and unicodedata.category(chunk[stop - 1])[0] == "P":
        stop -= 1
    return chunk[start:stop]
