"""A folder or an archive of images without a table: texts beside images, and what files and folders are called."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from diptych._core.errors import DataError
from diptych.data.splits import split_named
from diptych.data.tables import Problem, decode_lines
from diptych.features import clean_text
from diptych.ingest.column_content import is_empty, values_of
from diptych.ingest.columns import ColumnUse, kept_name, typed_columns
from diptych.ingest.items import GatheredItems, Item
from diptych.ingest.names import Part, name_rank, name_strength, texts_of_names, word_set, words_of_name
from diptych.media import (
    UNSUPPORTED_SUFFIXES,
    MediaSource,
    RefusedNameError,
    conversion_advice,
    is_image_name,
    is_unsupported_name,
)

_DATE = re.compile(r"(?:19|20)\d\d(?:[-_. ]?\d\d){0,2}|\d{3}[A-Za-z]{5}|DCIM", re.IGNORECASE)
_LEAST_TEXTS = 2
_TEXT_SUFFIXES = (".txt", ".caption", ".json")
_MOST_BYTES = 2**20
_DOCUMENTS = word_set(
    "readme read_me liesmich license licence copying attribution notice changelog changes authors credits citation "
    "classes labels contents index todo requirements manifest sample dataset metadata"
)
"""Names of files that tell of the whole folder."""


@dataclass
class ImageTree:
    """The items of a tree of files.

    Attributes:
        gathered: its items.
        uses: what names and folders were read as, and why.
        folders: for each item the folders it lies in that are neither a split nor a class.
    """

    gathered: GatheredItems = field(default_factory=GatheredItems)
    uses: list[ColumnUse] = field(default_factory=list)
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_image_tree(
    source: MediaSource, encoding: str | None = None, *, with_texts: bool = True, with_labels: bool = True
) -> ImageTree:
    """Make an item of each image, with the text beside it or else the words of its file's name.

    Folders named like splits are the splits. Folders at the top that hold several images each are the classes; other
    folders' names join the texts of images without a text beside them.

    Args:
        source: the folder or the archive.
        encoding: of the texts, where it is not UTF-8.
        with_texts: whether texts are read at all.
        with_labels: whether folders may be classes.

    Raises:
        DataError: when there is neither an image nor several texts.
    """
    names = source.names()
    tree = ImageTree()
    for name in names:
        if is_image_name(name):
            tree.gathered.items[name] = Item(name, name, name, image=name)
        elif is_unsupported_name(name):
            kind = UNSUPPORTED_SUFFIXES[PurePosixPath(name.lower()).suffix]
            tree.gathered.problems.append(Problem("row", name, conversion_advice(kind)))
        elif not is_text_name(name):
            tree.gathered.problems.append(Problem("row", name, "is neither an image nor a text"))
    if with_texts:
        _add_texts(tree, source, [name for name in names if is_text_name(name)], encoding)
    if not tree.gathered.items:
        raise DataError(
            f"{source.path} holds no image that can be used; {_what_there_is(names)}give a folder or an archive with "
            "images, or a table of them."
        )
    _add_labels(tree, with_labels=with_labels)
    if with_texts:
        _add_names(tree)
    _type_metadata(tree, source.path.name)
    return tree


def _what_there_is(names: Sequence[str]) -> str:
    if not names:
        return "it is empty; "
    endings = Counter(PurePosixPath(name.lower()).suffix or "no ending" for name in names)
    listed = ", ".join(f"{count:,} with {ending}" for ending, count in endings.most_common(4))
    return f"it holds {len(names):,} files ({listed}); "


def _add_texts(tree: ImageTree, source: MediaSource, texts: Sequence[str], encoding: str | None) -> None:
    """Join texts to their images; texts of their own are items where texts beside images are usual, or all there is."""
    items, problems = tree.gathered.items, tree.gathered.problems
    beside = {PurePosixPath(name).with_suffix("").as_posix(): name for name in reversed(list(items))}
    beside |= {name: name for name in items}
    paired = [name for name in texts if image_of_text(name, beside) is not None]
    alone = [name for name in texts if image_of_text(name, beside) is None]
    single = [name for name in alone if not is_document_name(name) and not name.lower().endswith(".json")]
    are_items = bool(paired) if beside else len(single) >= _LEAST_TEXTS
    for name in alone:
        if name not in single or not are_items:
            problems.append(Problem("row", name, "is a text that belongs to no image"))
    example = ""
    for name in sorted([*paired, *(single if are_items else [])]):
        try:
            read = read_sidecar(source, name, encoding)
        except RefusedNameError as reason:
            problems.append(Problem("row", name, str(reason)))
            continue
        known = items.get(image_of_text(name, beside) or "")
        item = Item(name, name, name) if known is None else known
        merged = (*item.texts, *(text for text in read.texts if text not in item.texts))
        label = read.label if item.label is None else item.label
        items[item.id] = replace(item, texts=merged, label=label, metadata={**item.metadata, **read.metadata})
        example = example or " ".join(merged)[:60]
    if example:
        tree.uses.append(ColumnUse("text files", "text", f"{len(paired):,} lie beside images of their names", example))


def _folders(name: str) -> tuple[str, ...]:
    return PurePosixPath(name).parts[:-1]


def _add_labels(tree: ImageTree, *, with_labels: bool) -> None:
    """Read splits and classes from the folders; what is left of a path stays for the text."""
    items = tree.gathered.items
    shared = _shared([_folders(name) for name, item in items.items() if item.image] or list(map(_folders, items)))
    tree.folders = {name: _folders(name)[len(shared) :] for name in items}
    tops = {folders[0] for folders in tree.folders.values() if folders}
    if tops and all(map(split_named, tops)) and all(tree.folders.values()):
        for name, folders in tree.folders.items():
            items[name] = replace(items[name], split=folders[0])
            tree.folders[name] = folders[1:]
        tree.uses.append(ColumnUse("folders", "split", "all are named like splits", ", ".join(sorted(tops))))
    if not with_labels or any(item.label is not None for item in items.values()):
        return
    sizes = Counter(folders[0] for folders in tree.folders.values() if folders)
    if _are_classes(sizes):
        for name, folders in tree.folders.items():
            if folders:
                items[name] = replace(items[name], label=folders[0])
                tree.folders[name] = folders[1:]
        reason = f"{len(sizes):,} folders with several images each"
        tree.uses.append(ColumnUse("folders", "label", reason, ", ".join(sorted(sizes)[:3])))
    elif shared and not sizes:
        reason = "all images lie in this one folder, so there are no classes"
        tree.gathered.problems.append(Problem("note", "/".join(shared), reason))


def _shared(folders: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The folders that all images lie in, which tell none of them from another."""
    shared = list(folders[0]) if folders else []
    for each in folders:
        while tuple(shared) != each[: len(shared)]:
            shared.pop()
    return tuple(shared)


def _are_classes(sizes: Counter[str]) -> bool:
    """Whether folders look like classes: several, nearly all with several images, and not named by dates."""
    several = sum(count for count in sizes.values() if count > 1)
    dates = sum(_DATE.fullmatch(name) is not None for name in sizes)
    return len(sizes) > 1 and several * 5 >= sizes.total() * 4 and dates * 2 < len(sizes)


def _add_names(tree: ImageTree) -> None:
    """Give images without a text the words of their names; the names of classes where no image would have a text."""
    items = tree.gathered.items
    silent = [name for name, item in items.items() if not item.texts]
    texts = texts_of_names(silent, [tree.folders[name] for name in silent])
    named = {name: text for name, text in zip(silent, texts, strict=True) if text is not None}
    source, reason = "file names", f"{len(named):,} images have no text of their own"
    if not named and len(silent) == len(items):
        named = {name: words for name, item in items.items() if (words := " ".join(_class_words(item)))}
        source, reason = "folders", "no image has a text, so the names of the classes stand for it"
    for name, text in named.items():
        items[name] = replace(items[name], texts=(text,))
    if named:
        tree.uses.append(ColumnUse(source, "text", reason, next(iter(named.values()))))
    elif silent:
        reason = f"of {len(silent):,} images say nothing, so these have no text"
        tree.uses.append(ColumnUse("file names", "left out", reason, PurePosixPath(silent[0]).name))


def _class_words(item: Item) -> list[str]:
    return words_of_name(item.label) if isinstance(item.label, str) else []


def _type_metadata(tree: ImageTree, origin: str) -> None:
    """Convert the metadata of files beside images to one type per column, under names that are not taken."""
    items = tree.gathered.items
    keys = dict.fromkeys(key for item in items.values() for key in item.metadata)
    kept: dict[str, str] = {}
    for key in keys:
        kept[key] = kept_name(key, [*kept.values(), *(other for other in keys if other != key)])
    rows = [{kept[key]: value for key, value in item.metadata.items()} for item in items.values()]
    typed, problems = typed_columns(rows, origin)
    tree.gathered.problems += problems
    for item, metadata in zip(list(items.values()), typed, strict=True):
        items[item.id] = replace(item, metadata=metadata)


@dataclass(frozen=True)
class Sidecar:
    """The content of a file beside an image.

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


def image_of_text(name: str, images: Mapping[str, str]) -> str | None:
    """The image beside which a text lies: of `x.txt` or `x.jpg.txt` that is `x.jpg`.

    Args:
        name: of the text's file.
        images: the images' names by their names without endings, and by themselves.
    """
    return images.get(PurePosixPath(name).with_suffix("").as_posix())


def read_sidecar(source: MediaSource, name: str, encoding: str | None) -> Sidecar:
    """Read a text file, or a JSON file of which the fields are told apart by their names.

    Raises:
        RefusedNameError: when it cannot be read or says nothing; the message is the reason.
    """
    place = source.locate(name)
    if place.size > _MOST_BYTES:
        raise RefusedNameError(f"has {place.size:,} bytes, too many for the text of an image")
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
