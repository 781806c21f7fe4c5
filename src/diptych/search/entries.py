"""The entries of an index: how they are called, to which document they belong, and what is known of them.

Each side of an item is an entry of its own: `image:7` and `text:7` are the image and the text of item 7. Items of one
document are one hit.
"""

import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Integers
from diptych._core.errors import ConfigError, DiptychError
from diptych._core.files import read_json, write_json
from diptych.data import SPLITS, Dataset, Partition
from diptych.features import clean_text
from diptych.index import Condition, EngineLocation, Index, parse
from diptych.index.filters import COLUMNS, And, Comparison, In, Key, Like, Missing, Not, Or
from diptych.media import KINDS, media_column
from diptych.search.index_folder import Description

_ATTRIBUTIONS = ("ATTRIBUTION.md", "ATTRIBUTION.txt")
_LONGEST_ATTRIBUTION = 20_000
_EXAMPLES = 8
_EXAMPLE_LENGTH = 70
RESERVED = (*map(media_column, KINDS), "has_media")
"""Keys that say which file is shown, and are never taken from outside."""
_TAKEN = ("id", "modality", "item", "document", "split", "label", *RESERVED)
_LONGEST_TEXT = 20_000
_FIRST_OF_SEVERAL = "#1"
"""What `ingest` appends to the id of the first of several items of one document, which has the image."""


def entry_id(modality: str, item: str) -> str:
    """The id of one modality of one item; no two are alike, for a modality's name has no colon.

    >>> entry_id("image", "harbour/7.jpg")
    'image:harbour/7.jpg'
    """
    return f"{modality}:{item}"


def item_of(id: str, modality: str) -> str:
    """The item of an entry called as `entry_id` does; any other id is an item of its own.

    >>> item_of("image:harbour/7.jpg", "image"), item_of("mine", "image")
    ('harbour/7.jpg', 'mine')
    """
    return id.removeprefix(f"{modality}:") or id


def document_of(id: str, metadata: Mapping[str, Any]) -> str:
    """The document an entry belongs to, by its metadata."""
    return str(metadata.get("document") or metadata.get("item") or id)


def likely_entries(document: str, items: Iterable[str], modalities: Sequence[str]) -> list[str]:
    """The ids under which the entries of a document usually are."""
    names = dict.fromkeys((*items, document, f"{document}{_FIRST_OF_SEVERAL}"))
    return [entry_id(modality, name) for name in names for modality in modalities]


def describe_items(dataset: Dataset, index: Integers) -> Iterator[dict[str, Any]]:
    """The metadata of some items: id, document, split, label and free columns; empty values are left out."""
    rows = dataset.items.take(index)
    columns = {name: rows.column(name).to_pylist() for name in ("id", "document", "split", "label", *_free(dataset))}
    for number in range(len(index)):
        known = {name: _plain(values[number]) for name, values in columns.items()}
        known["item"] = known.pop("id")
        if "text" in known:
            known["text"] = shown_text(known["text"])
        yield {name: value for name, value in known.items() if value is not None and value != []}


def metadata_keys(dataset: Dataset) -> list[str]:
    """The keys that entries of a dataset may have in their metadata."""
    return [*("item", "document", "split", "label"), *_free(dataset)]


def media_names(dataset: Dataset, index: Integers, kind: str = "image") -> Sequence[str | None]:
    """The name of each item's file of a kind of media in the source, None where there is none."""
    column = media_column(kind)
    if column not in dataset.metadata_columns:
        return [None] * len(index)
    names: list[str | None] = dataset.items.take(index).column(column).to_pylist()
    return names


def shown_text(text: Any) -> str | None:  # noqa: ANN401 - whatever a column holds
    """A text as it is shown and found by its words: clean, and not longer than is kept; None for none."""
    return (clean_text(text)[:_LONGEST_TEXT] or None) if isinstance(text, str) else None


def _free(dataset: Dataset) -> list[str]:
    return [name for name in dataset.metadata_columns if name not in _TAKEN]


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    """A value that JSON can hold, or None."""
    if isinstance(value, str):
        return value[:_LONGEST_TEXT].replace("\0", "")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [inner for inner in map(_plain, value) if inner is not None]
    return value if isinstance(value, bool | int) else None


class DocumentCount:
    """How many documents an index holds, counted again when entries have come or gone."""

    def __init__(self, index: Index, built: Mapping[str, int], documents: int | None, *, own_documents: bool) -> None:
        self._index = index
        self._own_documents = own_documents
        self._known = (dict(built), documents)

    def __call__(self) -> int | None:
        """The number; None where it would take reading every entry."""
        entries = {name: self._index.count(modality=name) for name in self._known[0]}
        if entries != self._known[0]:
            self._known = (entries, self._counted(entries) if self._own_documents else None)
        return self._known[1]

    def _counted(self, entries: Mapping[str, int]) -> int:
        items: set[str] = set()
        for modality, count in entries.items():
            items.update(item_of(id, modality) for id in self._index.list_ids(modality=modality, limit=max(1, count)))
        return len(items)


FILE = "keys.json"
_SOME = 200


class MetadataKeys:
    """What entries can be conditioned on; threads may share it.

    Keys are known from the dataset, from items that were added, and, where both say nothing of a key, from looking
    whether any entry has it.
    """

    def __init__(self, folder: Path, index: Index, built: Iterable[str]) -> None:
        self._file = folder / FILE
        self._index = index
        self._lock = threading.Lock()
        self._known = {*COLUMNS, *built, *self._added()}

    def problem(self, where: str | None) -> DiptychError | None:
        """What is wrong with a condition: that it cannot be read, or asks for a key that no entry has."""
        if where is None:
            return None
        try:
            condition = parse(where)
        except DiptychError as error:
            return error
        unknown = [name for name in sorted(_names(condition)) if name not in self._known and not self._is_there(name)]
        if not unknown:
            return None
        return ConfigError(
            f"no item has the key {unknown[0]!r}; conditions can be on {', '.join(sorted(self._listed()))}."
        )

    def note(self, names: Iterable[str]) -> None:
        """Keep the keys of items that were added."""
        fresh = set(names) - self._known
        if not fresh:
            return
        with self._lock:
            self._known |= fresh
            write_json(self._file, sorted({*self._added(), *fresh}))

    def _added(self) -> list[str]:
        written = read_json(self._file) if self._file.exists() else []
        return [key for key in written if isinstance(key, str)] if isinstance(written, list) else []

    def _is_there(self, name: str) -> bool:
        found = bool(self._index.list_ids(where=Not(Missing(Key((name,)))), limit=1))
        if found:
            with self._lock:
                self._known.add(name)
        return found

    def _listed(self) -> set[str]:
        """The keys to name in a message; of an index that was built before keys were kept, those of its first items."""
        known = set(self._known)
        if known == set(COLUMNS):
            some = self._index.get(self._index.list_ids(limit=_SOME))
            known |= {key for item in some if item is not None for key in item.metadata}
        return known - set(RESERVED)


def _names(condition: Condition) -> set[str]:
    """The first names of all keys in a condition."""
    match condition:
        case And(parts) | Or(parts):
            return {name for part in parts for name in _names(part)}
        case Not(part):
            return _names(part)
        case Comparison(key, _, _) | In(key, _) | Like(key, _) | Missing(key):
            return {key.path[0]}
    return set()


def describe_dataset(
    dataset: Dataset, modalities: tuple[str, ...], index_folder: Path, location: EngineLocation
) -> Description:
    """Gather the description of an index built from a dataset."""
    having = {name: dataset.everything.having(name) for name in modalities}
    per_class = {name: part.labels.class_counts().tolist() for name, part in having.items()}
    splits = {name: dataset.splits[part.index] for name, part in having.items()}
    return Description(
        dataset={"name": dataset.name, "fingerprint": dataset.fingerprint}
        | {key: str(dataset.source[key]) for key in ("taught_from",) if key in dataset.source},
        classes={
            label: {name: counts[code] for name, counts in per_class.items()}
            for code, label in enumerate(dataset.classes)
        },
        splits={split: {name: int((given == split).sum()) for name, given in splits.items()} for split in SPLITS},
        engine=location.engine,
        url=location.public_url,
        place=location.place,
        sources=_sources(dataset, index_folder),
        attribution=_attribution(dataset),
        examples=_examples(dataset),
        keys=metadata_keys(dataset),
        documents=_count_documents(dataset, having.values()),
        own_documents=bool((dataset.everything.documents == dataset.ids).all()),
        origin=_from_index(dataset.path.resolve(), index_folder) if dataset.path.is_dir() else "",
    )


def _count_documents(dataset: Dataset, parts: Iterable[Partition]) -> int:
    """How many documents have at least one of the modalities."""
    present = np.zeros(len(dataset), np.bool_)
    for part in parts:
        present[part.index] = True
    return len(np.unique(dataset.everything.documents[present]))


def _sources(dataset: Dataset, index_folder: Path) -> list[dict[str, str]]:
    """Where the files lie, as seen from the index's folder."""
    if dataset.source.get("importer") != "ingest":
        return []
    there = (dataset.path / str(dataset.source["images"])).resolve()
    return [{"path": _from_index(there, index_folder), "kind": str(dataset.source["images_kind"])}]


def _from_index(there: Path, index_folder: Path) -> str:
    """A path as seen from the index's folder, so that both may be moved together."""
    here = index_folder.resolve()
    shared = Path(os.path.commonpath([here, there])) if here.anchor == there.anchor else Path(here.anchor)
    return there.as_posix() if shared == Path(here.anchor) else Path(os.path.relpath(there, here)).as_posix()


def _attribution(dataset: Dataset) -> str:
    """The words of thanks that lie beside the dataset or the table it was made from."""
    places = [dataset.path]
    if "pairs" in dataset.source:
        pairs = (dataset.path / str(dataset.source["pairs"])).resolve()
        places.append(pairs if pairs.is_dir() else pairs.parent)
    for file in (place / name for place in places for name in _ATTRIBUTIONS):
        if file.is_file():
            return file.read_text(encoding="utf-8", errors="replace")[:_LONGEST_ATTRIBUTION]
    return str(dataset.source.get("attribution", ""))


def _examples(dataset: Dataset) -> list[str]:
    """Short texts of test items, each of another class as long as there are others."""
    if "text" not in dataset.metadata_columns:
        return []
    order = np.argsort(dataset.splits != "test", kind="stable")
    labels, texts = dataset.items.column("label").to_pylist(), dataset.items.column("text").to_pylist()
    found: dict[str, str] = {}
    for place in order.tolist():
        if texts[place] and str(labels[place]) not in found:
            found[str(labels[place])] = _shortened(texts[place])
        if len(found) == _EXAMPLES:
            break
    return list(dict.fromkeys(found.values()))


def _shortened(text: str) -> str:
    """The first sentence, or as many of its words as fit."""
    sentence = " ".join(text.split()).split(". ")[0].rstrip(" .")
    if len(sentence) <= _EXAMPLE_LENGTH:
        return sentence
    return sentence[:_EXAMPLE_LENGTH].rsplit(" ", 1)[0]
