"""Hand over what was changed in an index to the one that replaces it.

A new index is built beside the old one, which goes on being searched and changed. What was added, replaced or removed
there is then embedded anew by the new model, in rounds, each taking over what was changed during the one before. The
last round runs while nobody may write, and ends with the exchange of the folders; so no acknowledged change is lost.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from diptych._core.errors import DataError, DiptychError
from diptych._core.progress import Progress
from diptych.index import Index, Item
from diptych.search.generation import Generation
from diptych.search.index_folder import (
    MEDIA_FOLDER,
    Description,
    EngineLocation,
    WorkFolder,
    write_lock,
)
from diptych.search.media_store import Change, MediaStore
from diptych.search.writer import NewItem

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
