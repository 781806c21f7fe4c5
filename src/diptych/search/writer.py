"""Add new texts, images and sounds to an index, and take items out of it."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Features
from diptych._core.errors import ConfigError, DataError, DiptychError, UnknownItemError
from diptych.features import clean_text
from diptych.index import EmbedderId, Index
from diptych.index.contract import already_there
from diptych.media import KINDS, media_kind
from diptych.search.entries import RESERVED, item_of, shown_text
from diptych.search.media_store import Change, MediaStore, StoredFile, content_hash
from diptych.search.raw_embedder import RawEmbedder, decoded, read_file
from diptych.search.spaces import IndexSpaces
from diptych.search.texts import Texts

_TOGETHER = 16
"""Items that are decoded before they are embedded: pixels take a hundred times the memory of a file."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class NewItem:
    """Something to add to an index.

    Attributes:
        id: what to call it; unique in the index.
        kind: "text", or a kind of media such as "image" or "audio".
        value: a text; a file as its bytes or as a path.
        metadata: a JSON object, such as {"label": "river", "split": "train"}.
    """

    id: str
    kind: str
    value: str | bytes | Path
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class IndexWriter:
    """Changes an index, its texts and the images beside it.

    Attributes:
        index: the index, open for writing.
        raw: reads texts and files.
        store: the files.
        embedder: who makes the vectors.
        spaces: of the vectors.
        texts: the texts, found by their words; None where there are none.
    """

    index: Index
    raw: RawEmbedder
    store: MediaStore
    embedder: EmbedderId
    spaces: IndexSpaces = field(default_factory=IndexSpaces)
    texts: Texts | None = None

    def add(self, items: Sequence[NewItem], *, replace: bool) -> int:
        """Embed items and add them, all or none. The image is stored before the item that shows it."""
        if not items:
            return 0
        entries: list[_Entry] = []
        for start in range(0, len(items), _TOGETHER):
            entries += self._embedded([self._read(item) for item in items[start : start + _TOGETHER]])
        ids = [entry.id for entry in entries]
        present = [found.id for found in self.index.get(ids) if found is not None]
        if present and not replace:
            raise already_there(present[0])
        before = self._images(present)
        self.store.put([entry.image for entry in entries if entry.image is not None], map(_change, entries))
        try:
            # A text that is replaced is found by no words meanwhile: a kill must not leave words of what is no more.
            self._delete_texts(present)
            self._write_texts([entry for entry in entries if entry.id not in present])
            done = self._write(entries, replace=replace)
            self._write_texts([entry for entry in entries if entry.id in present])
        except BaseException:
            self._match_texts(ids)
            raise
        kept = {(entry.image.id, entry.image.hash) for entry in entries if entry.image is not None}
        self.store.drop([image for image in before if image not in kept])
        return done

    def remove(self, ids: Sequence[str], others: Sequence[str] = (), *, missing_ok: bool = True) -> int:
        """Delete items; from the moment this returns they are found no more, nor their images shown.

        Args:
            ids: of the items.
            others: of items that go with them.
            missing_ok: pass over ids that are not there, instead of deleting nothing.

        Raises:
            UnknownItemError: when an id is not there and must be.
        """
        asked = list(dict.fromkeys([*ids, *others]))
        present = [item.id for item in self.index.get(asked) if item is not None]
        missing = () if missing_ok else sorted(set(ids).difference(present))
        if missing:
            more = f", nor {len(missing) - 1:,} others" if len(missing) > 1 else ""
            raise UnknownItemError(f"there is no item {missing[0][:200]!r}{more}; nothing was deleted.")
        images = self._images(present)
        self.store.put((), map(Change, present))
        try:
            self._delete_texts(present)
            done = self.index.delete(asked)
        except BaseException:
            self._match_texts(present)
            raise
        try:
            self.store.drop(images)
        except DiptychError as error:  # on a full disk: nobody is shown an image that no item has
            _log.warning("The images of removed items could not be deleted: %s", error)
        return done

    def describe(self, about: Mapping[str, Mapping[str, Any]]) -> int:
        """Give entries other metadata; contents, vectors and images stay. Entries that are not there are passed over.

        Args:
            about: the metadata of each entry, by its id.
        """
        found = [item for item in self.index.get(list(about)) if item is not None]
        if not found:
            return 0
        ids = [item.id for item in found]
        known = []
        for item in found:
            checked = dict(_checked(NewItem(item.id, "text", "", about[item.id])))
            known.append(checked | {key: item.metadata[key] for key in RESERVED if key in item.metadata})
        self.store.put((), map(Change, ids))
        vectors, modalities = [item.vector for item in found], [item.modality for item in found]
        done = self.index.update(ids, vectors, modality=modalities, metadata=known, embedder=self.embedder)
        self._match_texts(ids)
        return done

    def edit(self, ids: Sequence[str], text: str | None, changes: Mapping[str, Any]) -> int:
        """Change what is known of a document, and its text.

        Args:
            ids: of the document's entries; the text is that of the first of them that is one.
            text: the new text, which is embedded; None leaves it.
            changes: metadata by key; None removes a key.
        """
        found = [item for item in self.index.get(ids) if item is not None]
        known = {item.id: {key: value for key, value in item.metadata.items() if key not in RESERVED} for item in found}
        for about in known.values():
            about.update(changes)
            for key in [key for key, value in about.items() if value is None]:
                del about[key]
        if text is not None:
            texts = [item.id for item in found if item.modality == self.raw.modality_of("text")]
            if texts:
                about = {key: value for key, value in known.pop(texts[0]).items() if key != "text"}
                self.add([NewItem(texts[0], "text", text, about)], replace=True)
            for about in known.values():
                about["text"] = shown_text(text)
        return self.describe(known) + (1 if text is not None and len(known) < len(found) else 0)

    def _embedded(self, entries: Sequence["_Entry"]) -> Sequence["_Entry"]:
        """The entries with their vectors, and without the pixels these were made of."""
        for modality in dict.fromkeys(entry.modality for entry in entries):
            alike = [entry for entry in entries if entry.modality == modality]
            embedded = self.raw.embed(modality, [entry.content for entry in alike])
            complete = self.spaces.complete(embedded.vectors)
            for place, entry in enumerate(alike):
                problem = embedded.problems[place]
                if problem is not None:
                    raise DataError(f"item {entry.id!r} cannot be added: {problem}")
                if not complete[place]:
                    raise DataError(f"item {entry.id!r} cannot be added: it has no direction in every space.")
                entry.vector, entry.features = embedded.vectors[place], embedded.features[place : place + 1]
                entry.content = None
        return entries

    def _write(self, entries: Sequence["_Entry"], *, replace: bool) -> int:
        write = self.index.update if replace else self.index.add
        return write(
            [entry.id for entry in entries],
            [entry.vector for entry in entries],
            modality=[entry.modality for entry in entries],
            metadata=[entry.metadata for entry in entries],
            embedder=self.embedder,
        )

    def _write_texts(self, entries: Sequence["_Entry"]) -> None:
        if self.texts is None:
            return
        mine = [entry for entry in entries if entry.modality == self.texts.plan.modality]
        if mine:
            rows = _stacked([entry.features for entry in mine if entry.features is not None])
            self.texts.write([entry.id for entry in mine], rows, [entry.metadata for entry in mine])

    def _delete_texts(self, ids: Sequence[str]) -> None:
        if self.texts is not None and ids:
            self.texts.index.delete(ids)

    def _match_texts(self, ids: Sequence[str]) -> None:
        """After a failure, make the texts of some entries what the main index says they are."""
        if self.texts is not None:
            self.texts.match(ids, self.index, self.raw)

    def _images(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        found = [item for item in self.index.get(ids) if item is not None]
        return [(item.id, item.metadata["media"]) for item in found if "media" in item.metadata]

    def _read(self, item: NewItem) -> "_Entry":
        modality = self.raw.modality_of(item.kind)
        metadata = {"item": item_of(item.id, modality), **_checked(item)}
        if item.kind == "text":
            words = self.raw.read("text", clean_text(item.value) if isinstance(item.value, str) else item.value)
            return _Entry(item.id, modality, words, {"text": shown_text(words), **metadata}, None, words)
        kind = media_kind(item.kind)
        called = f"the {kind.noun.partition(' ')[2]} of item {item.id!r}"
        data = item.value if not isinstance(item.value, Path) else read_file(item.value)
        if not isinstance(data, bytes):
            raise ConfigError(f"{called} is a {type(data).__name__}; give its bytes or its Path.")
        content = decoded(data, called, item.kind)
        file = StoredFile(item.id, content_hash(data), kind.load().thumbnail(content), original=data)
        return _Entry(item.id, modality, content, metadata | {"media": file.hash}, file)


@dataclass
class _Entry:
    """A new entry, read and checked; embedded later."""

    id: str
    modality: str
    content: Any
    metadata: dict[str, Any]
    image: StoredFile | None
    text: str | None = None
    vector: Any = None
    features: Features | None = None


def _change(entry: _Entry) -> Change:
    """What is listed of a change, with the text where the metadata have another or a shorter one."""
    return Change(entry.id, None if entry.text == entry.metadata.get("text") else entry.text)


def _stacked(rows: Sequence[Features]) -> Features:
    dense = [row for row in rows if isinstance(row, np.ndarray)]
    if len(dense) == len(rows):
        return np.concatenate(dense)
    return sp.csr_array(sp.vstack([row for row in rows if not isinstance(row, np.ndarray)]))


def _checked(item: NewItem) -> Mapping[str, Any]:
    if item.kind not in ("text", *KINDS):
        raise ConfigError(f"item {item.id!r} is of kind {item.kind!r}; add text or {' or '.join(KINDS)}.")
    if not isinstance(item.metadata, Mapping):
        raise DataError(f"the metadata of {item.id!r} is {type(item.metadata).__name__}; it must be a JSON object.")
    for key in RESERVED:
        if key in item.metadata:
            raise DataError(f"the metadata of {item.id!r} has the key {key!r}, which is set by the index; rename it.")
    return item.metadata
