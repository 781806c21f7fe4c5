"""Find the files that speak of items: the one that a table means, and the texts that lie beside media files.

A table means a file by its path, its file name, its name without an ending, or its address.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from diptych._core.errors import DataError
from diptych.data.tables import decode_lines
from diptych.features import clean_text
from diptych.ingest.column_content import is_address, is_empty, values_of
from diptych.ingest.names import Part, name_rank, name_strength, word_set
from diptych.media import (
    START_BYTES,
    MediaSource,
    Place,
    RefusedNameError,
    checked_name,
    is_media_name,
    kind_of_content,
    kind_of_name,
    media_kind,
)

ON_THE_WEB = "is an address on the web; download it first"


class OnTheWebError(RefusedNameError):
    """An address whose file is not in the source; nothing is fetched."""


class FileFinder:
    """Finds media files in a source by whatever a table calls them.

    A path is taken from the table's own folder or from the root. What is not there under that path is looked up by
    its file name, letter case and ending apart, anywhere in the source, as long as one file alone has that name.

    Args:
        source: the folder or the archive.
        base: the folder in it from which the table names its files.
    """

    def __init__(self, source: MediaSource, base: str = "") -> None:
        self.source = source
        self._base = base
        self._found: dict[tuple[str, str], Place] = {}

    def find(self, written: str, kind: str = "image") -> Place:
        """Find a file of a kind.

        Raises:
            OnTheWebError: for an address whose file is not in the source.
            RefusedNameError: when it is not there, or leads out of the source; the message is the reason.
        """
        if (written, kind) not in self._found:
            self._found[written, kind] = self._search(written, kind)
        return self._found[written, kind]

    def share_found(self, names: Sequence[Sequence[str]], kind: str | None = None) -> float:
        """The share of cells of which at least one name leads to a file, of a kind if that is named."""
        found = sum(any(self._has(written, kind) for written in cell) for cell in names)
        return found / len(names) if names else 0.0

    def _has(self, written: str, kind: str | None) -> bool:
        try:
            place = self.find(written, kind or kind_of_name(_path(written)) or "image")
        except RefusedNameError:
            return False
        return kind is None or self.kind_of(place) == kind

    def kind_of(self, place: Place) -> str:
        """What a file is: by its name, else by its first bytes; what neither tells counts as an image."""
        try:
            return kind_of_name(place.name) or kind_of_content(self.source.peek(place, START_BYTES) or b"") or "image"
        except OSError:
            return "image"

    def _search(self, written: str, kind: str) -> Place:
        refusal: RefusedNameError | None = None
        elsewhere = is_address(written) or _is_absolute(written)
        for name in _spellings(written, self._base, self.source.path.resolve().as_posix()):
            try:
                return self.source.locate(name)
            except RefusedNameError as reason:
                refusal = refusal or reason
        if is_address(written) and urlsplit(written).scheme.lower() != "file":
            refusal = OnTheWebError(ON_THE_WEB)
        if elsewhere or _is_plain(written):
            alike = self._by_file_name(written, refusal, kind)
            if alike is not None:
                return self.source.locate(alike)
        raise refusal or RefusedNameError("is no name of a file")

    def _by_file_name(self, written: str, refusal: RefusedNameError | None, kind: str) -> str | None:
        path = PurePosixPath(_path(written).casefold())
        if is_media_name(path.name):
            candidates = self._names.get(path.name, [])
        else:
            alike = self._stems.get(path.name, [])
            wanted = media_kind(kind)
            candidates = [name for name in alike if wanted.has_name(name) or wanted.name_problem(name) is not None]
        shared = [_shared_parts(name, path) for name in candidates]
        fitting = [name for name, count in zip(candidates, shared, strict=True) if count == max(shared)]
        if len(fitting) > 1 and not isinstance(refusal, OnTheWebError):
            raise RefusedNameError(f"could be any of {len(fitting)} files, such as {fitting[0]} and {fitting[1]}")
        return fitting[0] if len(fitting) == 1 else None

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The media files of the source by file name, in one letter case."""
        found: dict[str, list[str]] = {}
        try:
            names = self.source.names()
        except DataError:  # more files than can be listed: they are then found by their paths alone
            return found
        for name in names:
            if is_media_name(name):
                found.setdefault(PurePosixPath(name).name.casefold(), []).append(name)
        return found

    @cached_property
    def _stems(self) -> dict[str, list[str]]:
        """The media files of the source by file name without its ending."""
        found: dict[str, list[str]] = {}
        for file_name, names in self._names.items():
            found.setdefault(PurePosixPath(file_name).stem, []).extend(names)
        return found


def _path(written: str) -> str:
    """The path that is written, whether as an address, with backslashes, or plain."""
    text = unquote(urlsplit(written.strip()).path) if is_address(written) else written
    return text.replace("\\", "/")


def _spellings(written: str, base: str, root: str) -> list[str]:
    """The names under which a file may be found in the source, the likeliest first."""
    path = _path(written)
    if is_address(written) or _is_absolute(written):
        inside = path[len(root) + 1 :] if path.startswith(f"{root}/") else ""
        names = [inside, path.lstrip("/") if is_address(written) else "", PurePosixPath(path).name]
        return ([] if is_address(written) else [written]) + [name for name in dict.fromkeys(names) if name]
    return [f"{base}/{path}", path] if base else [path]


def _is_absolute(written: str) -> bool:
    return written.startswith(("/", "\\")) or (len(written) > 2 and written[1] == ":" and written[2] in "\\/")


def _is_plain(written: str) -> bool:
    try:
        checked_name(written)
    except RefusedNameError:
        return False
    return True


def _shared_parts(name: str, path: PurePosixPath) -> int:
    """How many of the folders right above a file have the same names as those of the path that is written."""
    count = 0
    for one, other in zip(PurePosixPath(name.casefold()).parent.parts[::-1], path.parent.parts[::-1], strict=False):
        if one != other:
            break
        count += 1
    return count


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
