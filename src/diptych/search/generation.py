"""One generation of an index, opened, and how the next one takes over what was changed in it.

A new index is built beside the old one, which goes on being searched and changed. What was added, replaced or removed
there is then embedded anew by the new model, in rounds, each taking over what was changed during the one before. The
last round runs while nobody may write, and ends with the exchange of the folders; so no acknowledged change is lost.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from diptych._core.errors import DataError, DiptychError
from diptych._core.files import interpreting
from diptych._core.progress import Progress
from diptych.index import EmbedderId, Index, Item
from diptych.media import THUMBNAIL_TYPE, content_type
from diptych.methods import load_model, model_fingerprint
from diptych.search.answers import Answerer
from diptych.search.calibration import read_calibration
from diptych.search.entries import DocumentCount, MetadataKeys
from diptych.search.index_folder import (
    CALIBRATION_FILE,
    MEDIA_FOLDER,
    MODEL_FOLDER,
    REBUILD,
    Description,
    EngineLocation,
    WorkFolder,
    generation_of,
    write_lock,
)
from diptych.search.index_folder import FILE as DESCRIPTION
from diptych.search.listing import Lister
from diptych.search.media_store import Change, MediaStore, Originals, StoredImage
from diptych.search.query import MODES
from diptych.search.raw_embedder import RawEmbedder, media_type_of
from diptych.search.spaces import IndexSpaces
from diptych.search.texts import Suggester, Texts, TextsPlan, open_texts
from diptych.search.writer import IndexWriter, NewItem


class Generation:
    """What was opened of an index's folder.

    It is used between `enter` and `leave`; after `retire` it is closed when the last one has left.

    Attributes:
        token: tells this generation from others at the same path.
        description: what the index says of itself.
        model: embeds queries and new items.
        spaces: of the vectors.
        calibration: how scores become probabilities.
        index: the vectors.
        raw: reads texts and images.
        suggester: completes and corrects typed queries.
        keys: what can be conditioned on.
        answerer: answers queries.
    """

    def __init__(self, folder: Path, *, writable: bool = False, url: str | None = None) -> None:
        Description.read(folder)  # says so where there is no index
        self.token = generation_of(folder)
        self.folder = folder
        self.description = known = Description.read(folder)
        self.model = load_model(folder / MODEL_FOLDER)
        self._embedder = EmbedderId(model_fingerprint(folder / MODEL_FOLDER), self.model.record_.get("pipeline") or "")
        self.calibration = read_calibration(folder / CALIBRATION_FILE)
        with interpreting(folder / DESCRIPTION, REBUILD):
            self.spaces = IndexSpaces.from_json(known.spaces)
            plan = TextsPlan.from_json(known.texts)
        self.raw = RawEmbedder(self.model, self.spaces.embedded_for)
        location = EngineLocation.found(known.engine, url, known.place, known.url)
        with ExitStack() as opened:
            self.store = MediaStore(folder / MEDIA_FOLDER, writable=writable)
            opened.callback(self.store.close)
            self._originals = Originals(folder, known.sources)
            opened.callback(self._originals.close)
            self.index = opened.enter_context(location.open(folder, self._embedder, writable=writable))
            self.texts = self._open_texts(plan, location, writable=writable)
            if self.texts is not None:
                opened.enter_context(self.texts.index)
                if writable:
                    self.texts.repair(self.index, self.raw)
            self._opened = opened.pop_all()
        of_text = [name for name in self.model.modalities if media_type_of(self.model, name) == "text"]
        self.suggester = Suggester(
            self.raw, of_text[0] if len(of_text) == 1 else None, self.texts, tuple(known.classes)
        )
        self._documents = DocumentCount(self.index, known.entries, known.documents, own_documents=known.own_documents)
        self.keys = MetadataKeys(folder, self.index, known.keys)
        lister = Lister(self.index, self.texts, self._embedder, self.spaces)
        self.answerer = Answerer(
            lister, self.raw, self.calibration, self.model.modalities, self.suggester, self._documents
        )
        places = {str(folder), str(folder.absolute()), str(folder.resolve())} - {".", ""}
        self._places = re.compile("|".join(map(re.escape, sorted(places, key=len, reverse=True))))
        self._using = threading.Lock()
        self._users, self._retired = 0, False

    @property
    def is_current(self) -> bool:
        """Whether the folder at the path is still the one that was opened."""
        return generation_of(self.folder) == self.token

    @property
    def writer(self) -> IndexWriter:
        """Changes this generation."""
        return IndexWriter(self.index, self.raw, self.store, self._embedder, self.spaces, self.texts)

    def info(self) -> dict[str, Any]:
        """What the index is: modalities are counted now, classes and splits were counted when it was built."""
        known = self.description
        counts = {name: self.index.count(modality=name) for name in self.model.modalities}
        return {
            "dataset": dict(known.dataset),
            "model": {"method": self.model.registry_name, "fingerprint": self._embedder.model},
            "pipeline": self._embedder.pipeline or None,
            "items": self._documents() or max(counts.values(), default=0),
            "entries": self.index.count(),
            "modalities": counts,
            "classes": {name: max(of.values(), default=0) for name, of in known.classes.items()},
            "splits": {name: max(of.values(), default=0) for name, of in known.splits.items()},
            "modes": [*MODES] if self.texts is not None else ["vector"],
            "dimension": self.index.identity.dimension,
            "engine": known.engine,
            "takes": sorted(self.raw.media()),
            "purposes": [*self.spaces.purposes],
            **self.calibration.summary(),
            "attribution": known.attribution,
            "examples": [*known.examples],
        }

    def thumbnail(self, id: str) -> bytes | None:
        """A small WebP of an entry's image; None if the entry is not in the index or has none."""
        hash = self._image_of(id)
        return None if hash is None else self.store.thumbnail(id, hash)

    def original(self, id: str) -> tuple[bytes, str] | None:
        """An entry's image as it was indexed, else its thumbnail, and the media type; None if it has none."""
        hash = self._image_of(id)
        stored = None if hash is None else self.store.get(id, hash)
        if stored is None:
            return None
        data = self._original(stored)
        return (stored.thumbnail, THUMBNAIL_TYPE) if data is None else (data, content_type(data))

    def public(self, error: DiptychError) -> DiptychError:
        """The same error without the place of the index, so that strangers may read it."""
        message = self._places.sub("the index", str(error))
        return error if message == str(error) else type(error)(message)

    def enter(self) -> bool:
        """Begin to use it; False if it is retired."""
        with self._using:
            if not self._retired:
                self._users += 1
            return not self._retired

    def leave(self) -> None:
        """End a use."""
        with self._using:
            self._users -= 1
            last = self._retired and self._users == 0
        if last:
            self._opened.close()

    def retire(self) -> None:
        """Close it as soon as nobody uses it; retiring twice does no harm."""
        with self._using:
            first, self._retired = not self._retired, True
            free = first and self._users == 0
        if free:
            self._opened.close()

    def _open_texts(self, plan: TextsPlan | None, location: EngineLocation, *, writable: bool) -> Texts | None:
        if plan is None:
            return None
        return Texts(plan, open_texts(plan, location, self.folder, self._embedder, writable=writable))

    def _image_of(self, id: str) -> str | None:
        item = self.index.get([id])[0]
        return None if item is None else item.metadata.get("media")

    def _original(self, stored: StoredImage) -> bytes | None:
        if stored.original is not None or stored.source is None or stored.name is None:
            return stored.original
        return self._originals.read(stored.source, stored.name, stored.hash)


_AT_ONCE = 64
_ROUNDS = 10
_REMEDY = "build the index with --discard-changes, or remove it from the old one"


def take_over_changes(work: WorkFolder, target: Path, url: str | None, progress: Progress) -> int:
    """Bring what was changed in an index into the one that is about to replace it; returns how many entries.

    From the last round on, nobody can write until the folders have been exchanged.
    """
    with _former(target, url) as former, _opened(work.path, url) as new:
        taker = _Taker(former, new, progress)
        for _ in range(_ROUNDS):
            if len(taker.open_changes()) <= _AT_ONCE:
                break
            taker.take()
        work.until_replaced.enter_context(write_lock(target))
        taker.take()
        return taker.taken


@dataclass(frozen=True)
class _Former:
    """The index that is replaced, as far as its changes can be read without its model."""

    index: Index
    store: MediaStore


@dataclass
class _Taker:
    """Takes over changes, round by round."""

    former: _Former
    new: Generation
    progress: Progress
    taken: int = 0
    _last: int = 0

    def open_changes(self) -> list[Change]:
        """What is still to be taken over."""
        return self.former.store.changes(self._last)

    def take(self) -> None:
        """Take over everything that was changed by now."""
        changes = self.open_changes()
        for start in range(0, len(changes), _AT_ONCE):
            some = changes[start : start + _AT_ONCE]
            self._take(some)
            self.taken, self._last = self.taken + len(some), some[-1].number
            self.progress("taking over changes", start + len(some), len(changes))

    def _take(self, changes: Sequence[Change]) -> None:
        """Make entries of the new index what they are in the former one: there with this content, or not there."""
        found = dict(zip(changes, self.former.index.get([change.id for change in changes]), strict=True))
        gone = [change.id for change, item in found.items() if item is None]
        items = [new for change, item in found.items() if item is not None and (new := self._item(change, item))]
        self.new.writer.remove(gone)
        try:
            self.new.writer.add(items, replace=True)
        except DiptychError as error:
            reason = str(error).rstrip(".")
            raise DataError(f"a change since the index was built cannot be taken over: {reason}; {_REMEDY}.") from None
        self.new.keys.note(key for item in items for key in item.metadata)

    def _item(self, change: Change, item: Item) -> NewItem | None:
        """The entry as it was given; None for one of the dataset, whose change was listed and then not made."""
        metadata = {key: value for key, value in item.metadata.items() if key != "media"}
        kind: Literal["text", "image"] = "image" if "media" in item.metadata else "text"
        if kind == "text":
            return NewItem(item.id, kind, change.text or str(metadata.get("text", "")), metadata)
        stored = self.former.store.get(item.id, item.metadata["media"])
        if stored is None or stored.source is not None:
            return None
        return NewItem(item.id, kind, stored.original or stored.thumbnail, metadata)


@contextmanager
def _former(folder: Path, url: str | None) -> Iterator[_Former]:
    known = Description.read(folder)
    location = EngineLocation.found(known.engine, url if known.place else None, known.place, known.url)
    store = MediaStore(folder / MEDIA_FOLDER, writable=False)
    try:
        with location.open(folder, writable=False) as index:
            yield _Former(index, store)
    finally:
        store.close()


@contextmanager
def _opened(folder: Path, url: str | None) -> Iterator[Generation]:
    generation = Generation(folder, writable=True, url=url)
    try:
        yield generation
    finally:
        generation.retire()
