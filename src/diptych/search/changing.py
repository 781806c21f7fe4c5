"""Add new words and pictures to an index, and take items out of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diptych.errors import ConfigError, DataError
from diptych.index import Index, Maker
from diptych.search.decoding import decoded, read_file
from diptych.search.entries import RESERVED
from diptych.search.media_store import MediaStore, StoredPicture
from diptych.search.queries import NewItem
from diptych.search.raw_parts import RawParts
from diptych.search.spaces import IndexSpaces
from diptych.search.thumbnails import content_hash, thumbnail


@dataclass(frozen=True)
class Changer:
    """Changes an index and the pictures beside it.

    Attributes:
        index: the index, open for writing.
        raw: reads words and pictures.
        store: the pictures.
        maker: who makes the vectors.
        spaces: of the vectors.
    """

    index: Index
    raw: RawParts
    store: MediaStore
    maker: Maker
    spaces: IndexSpaces = field(default_factory=IndexSpaces)

    def add(self, items: Sequence[NewItem], *, replace: bool) -> int:
        """Embed items and add them, all or none. The picture is stored before the item that shows it."""
        if not items:
            return 0
        entries = [self._read(item) for item in items]
        vectors: dict[int, Any] = {}
        for modality in dict.fromkeys(entry.modality for entry in entries):
            places = [place for place, entry in enumerate(entries) if entry.modality == modality]
            codes, problems = self.raw.embed(modality, [entries[place].content for place in places])
            complete = self.spaces.complete(codes)
            for place, code, problem, whole in zip(places, codes, problems, complete, strict=True):
                if problem is not None:
                    raise DataError(f"item {items[place].id!r} cannot be added: {problem}")
                if not whole:
                    raise DataError(f"item {items[place].id!r} cannot be added: it has no direction in every space.")
                vectors[place] = code
        ids = [item.id for item in items]
        before = self._pictures(ids) if replace else []
        self.store.put(entry.picture for entry in entries if entry.picture is not None)
        write = self.index.update if replace else self.index.add
        done = write(
            ids,
            [vectors[place] for place in range(len(items))],
            modality=[entry.modality for entry in entries],
            metadata=[entry.metadata for entry in entries],
            maker=self.maker,
        )
        kept = {(entry.picture.id, entry.picture.hash) for entry in entries if entry.picture is not None}
        self.store.drop([picture for picture in before if picture not in kept])
        return done

    def remove(self, ids: Sequence[str]) -> int:
        """Delete items; from the moment this returns they are found no more, nor their pictures shown."""
        pictures = self._pictures(ids)
        done = self.index.delete(ids)
        self.store.drop(pictures)
        return done

    def _pictures(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        found = [item for item in self.index.get(ids) if item is not None]
        return [(item.id, item.metadata["media"]) for item in found if "media" in item.metadata]

    def _read(self, item: NewItem) -> "_Entry":
        modality = self.raw.modality_of(item.kind)
        metadata = {"item": item.id, **_checked(item)}
        if item.kind == "text":
            words = self.raw.read("text", item.value)
            return _Entry(modality, words, {"text": words, **metadata}, None)
        data = item.value if not isinstance(item.value, Path) else read_file(item.value)
        if not isinstance(data, bytes):
            raise ConfigError(
                f"the picture of item {item.id!r} is a {type(data).__name__}; give its bytes or its Path."
            )
        pixels = decoded(data, f"the picture of item {item.id!r}")
        picture = StoredPicture(item.id, content_hash(data), thumbnail(pixels), original=data)
        return _Entry(modality, pixels, metadata | {"media": picture.hash}, picture)


@dataclass(frozen=True)
class _Entry:
    """A new item, read and checked."""

    modality: str
    content: Any
    metadata: dict[str, Any]
    picture: StoredPicture | None


def _checked(item: NewItem) -> Mapping[str, Any]:
    if item.kind not in ("text", "image"):
        raise ConfigError(f"item {item.id!r} is of kind {item.kind!r}; add text or image.")
    if not isinstance(item.metadata, Mapping):
        raise DataError(f"the metadata of {item.id!r} is {type(item.metadata).__name__}; it must be a JSON object.")
    for key in RESERVED:
        if key in item.metadata:
            raise DataError(f"the metadata of {item.id!r} has the key {key!r}, which is set by the index; rename it.")
    return item.metadata
