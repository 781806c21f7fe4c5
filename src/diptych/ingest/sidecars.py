"""Files that lie beside media files and speak of them: texts, and JSON whose fields are told apart by their names."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from diptych.data.tables import decode_lines
from diptych.features import clean_text
from diptych.ingest.column_content import is_empty, values_of
from diptych.ingest.names import Part, name_rank, name_strength, word_set
from diptych.media import MediaSource, RefusedNameError

_TEXT_SUFFIXES = (".txt", ".caption", ".json")
_MOST_BYTES = 2**20
_DOCUMENTS = word_set(
    "readme read_me liesmich license licence copying attribution notice changelog changes authors credits citation "
    "classes labels contents index todo requirements manifest sample dataset metadata"
)
"""Names of files that tell of the whole folder."""


@dataclass(frozen=True)
class Sidecar:
    """The content of a file beside a media file.

    Attributes:
        texts: captions, cleaned.
        label: its class, where it names one.
        metadata: what else it says.
    """

    texts: tuple[str, ...] = ()
    label: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def is_text_name(name: str) -> bool:
    """Whether a file's name ends like that of a text."""
    return name.lower().endswith(_TEXT_SUFFIXES)


def is_document_name(name: str) -> bool:
    """Whether a file's name is that of a document about the whole folder, such as a README."""
    return PurePosixPath(name.lower()).stem in _DOCUMENTS


def file_of_text(name: str, files: Mapping[str, str]) -> str | None:
    """The item beside whose file a text lies: of `x.txt` or `x.jpg.txt` that of `x.jpg`.

    Args:
        name: of the text's file.
        files: the items by their files' names, with and without endings.
    """
    return files.get(PurePosixPath(name).with_suffix("").as_posix())


def read_sidecar(source: MediaSource, name: str, encoding: str | None) -> Sidecar:
    """Read a text file, or a JSON file of which the fields are told apart by their names.

    Raises:
        RefusedNameError: when it cannot be read or says nothing; the message is the reason.
    """
    place = source.locate(name)
    if place.size > _MOST_BYTES:
        raise RefusedNameError(f"has {place.size:,} bytes, too many for the text of one item")
    try:
        content = "".join(decode_lines(name, source.read(place), encoding).lines)
    except OSError as error:
        raise RefusedNameError(f"cannot be read ({error.strerror or error})") from None
    if name.lower().endswith(".json"):
        return _from_json(content)
    text = clean_text(content)
    if not text:
        raise RefusedNameError("is empty")
    return Sidecar((text,))


def _from_json(content: str) -> Sidecar:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RefusedNameError(f"is not valid JSON ({error})") from None
    if not isinstance(value, dict):
        value = {"text": value}
    texts: list[str] = []
    used: set[str] = set()
    parts: tuple[Part, ...] = ("title", "text", "tags")
    for part in parts:
        named = [key for key in value if name_strength(part, key) == 3 and not isinstance(value[key], dict)]
        for key in sorted(named, key=lambda key: name_rank(part, key))[:1]:
            used.add(key)
            texts += _cleaned(values_of(value[key]))
    label_keys = [key for key in value if key not in used and name_strength("label", key) == 3]
    label = value[label_keys[0]] if label_keys and not isinstance(value[label_keys[0]], dict) else None
    used |= set(label_keys[:1])
    if not texts and label is None:
        raise RefusedNameError("holds no field such as 'text' or 'caption'")
    rest = {key: each for key, each in value.items() if key not in used and not is_empty(each)}
    return Sidecar(tuple(dict.fromkeys(texts)), label, rest)


def _cleaned(values: Iterable[Any]) -> list[str]:
    return [text for value in values if (text := clean_text(str(value)))]
