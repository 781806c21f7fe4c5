"""An index gives way to another: what was changed in it is handed over, and whoever has it open follows.

A new index is built beside the old one, which goes on being searched and changed. What was added, replaced or removed
there is then embedded anew by the new model, in rounds, each taking over what was changed during the one before. The
last round runs while nobody may write, and ends with the exchange of the folders; so no acknowledged change is lost.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from diptych._core.errors import BackendUnavailableError, ConfigError, DataError, DiptychError
from diptych._core.progress import Progress
from diptych.index import EngineLocation, Index, Item
from diptych.search.entries import RESERVED
from diptych.search.generation import Generation
from diptych.search.index_folder import MEDIA_FOLDER, Description, generation_of, write_lock
from diptych.search.media_store import Change, MediaStore
from diptych.search.writer import NewItem

log = logging.getLogger(__name__)

T = TypeVar("T")
_AT_ONCE = 64
_ROUNDS = 10
_REMEDY = "build the index with --discard-changes, or remove it from the old one"


class Replacement(Protocol):
    """An index that is about to take the place of another.

    Attributes:
        path: its folder.
        until_replaced: what is held until the folders have been exchanged.
    """

    path: Path
    until_replaced: ExitStack


def take_over_changes(work: Replacement, target: Path, url: str | None, progress: Progress) -> int:
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

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """The media type of each modality."""
        return {name: kind for kind, names in self.new.raw.media().items() for name in names}

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
        self.new.writer.describe({item.id: about for item in found.values() if item and (about := self._edited(item))})
        self.new.keys.note(key for item in items for key in item.metadata)

    def _edited(self, item: Item) -> dict[str, Any] | None:
        """What is known now of an image of the dataset, whose image is that of the new index; None for others."""
        if "media" not in item.metadata:
            return None
        stored = self.former.store.get(item.id, item.metadata["media"])
        if stored is None or stored.source is None:
            return None
        return {key: value for key, value in item.metadata.items() if key not in RESERVED}

    def _item(self, change: Change, item: Item) -> NewItem | None:
        """The entry as it was given; None for one of the dataset, whose change was listed and then not made."""
        metadata = {key: value for key, value in item.metadata.items() if key != "media"}
        kind = self._kinds.get(item.modality, "image") if "media" in item.metadata else "text"
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


_TRIES = 5
_PAUSE_S = 1.0


class Generations:
    """The generations of the index at a path: the one that is open, and those that take its place one after another.

    Args:
        folder: the index.
        writable: whether it may be changed.
        url: of the engine's server.
        options: of `open_index`.
        retry: whether to go on trying in the background when the engine is away; meanwhile every call says so.
    """

    def __init__(
        self, folder: Path, *, writable: bool, url: str | None, options: Mapping[str, Any], retry: bool = False
    ) -> None:
        self.folder, self._writable = folder, writable
        self._wait_s: float | None = options.get("wait_s")
        self._open = partial(Generation, folder, writable=writable, url=url, options=options)
        self._opening = threading.Lock()
        self._warmed = False
        self._closed = threading.Event()
        self._current: Generation | None = None
        try:
            self._current = self._opened()
        except BackendUnavailableError as error:
            if not retry:
                raise
            self._absence: DiptychError = error
            threading.Thread(target=self._keep_trying, name="diptych-open", daemon=True).start()

    @property
    def current(self) -> Generation:
        """The one that is open.

        Raises:
            BackendUnavailableError: when the engine has been away since the start.
        """
        if self._current is None:
            if isinstance(self._absence, BackendUnavailableError):
                raise BackendUnavailableError(str(self._absence))
            raise BackendUnavailableError("the index cannot be opened; the log of the server says why.")
        return self._current

    def warm(self) -> None:
        """Load encoders and the catalogue now, and those of every generation to come when it is opened."""
        self._warmed = True
        if self._current is not None:
            self._current.warm()

    def close(self) -> None:
        """Close all files; closing twice is allowed."""
        with self._opening:
            self._closed.set()
        if self._current is not None:
            self._current.retire()

    def read(self, look: Callable[[Generation], T]) -> T:
        """What one generation of the index says; asked again if it was replaced meanwhile."""
        for _ in range(_TRIES):
            with self._using() as index:
                try:
                    found = look(index)
                except Exception as error:
                    if index.is_current:
                        raise (index.public(error) if isinstance(error, DiptychError) else error) from None
                    continue
            if index.is_current:
                return found
        raise BackendUnavailableError("the index is replaced again and again; try again in a moment.")

    @contextmanager
    def writing(self) -> Iterator[Generation]:
        """The generation to change, which nothing replaces meanwhile."""
        if not self._writable:
            raise ConfigError("this index is open for reading only; open it for writing to change it.")
        for _ in range(_TRIES):
            with write_lock(self.folder, self._wait_s), self._using(follow=False) as index:
                if index.is_current:
                    try:
                        yield index
                    except DiptychError as error:
                        raise index.public(error) from None
                    if not index.is_current:
                        raise BackendUnavailableError("the index was replaced during the change; send it again.")
                    return
            self._follow()  # not while the lock is held, for opening an index may take it
        raise BackendUnavailableError("the index is replaced again and again; try again in a moment.")

    @contextmanager
    def _using(self, *, follow: bool = True) -> Iterator[Generation]:
        """The generation in force, kept open meanwhile."""
        if follow and not self.current.is_current:
            self._follow()
        index = self.current
        while not index.enter():
            if self._closed.is_set():
                raise ConfigError("this index is closed; open it again.")
            index = self.current
        try:
            yield index
        finally:
            index.leave()

    def _follow(self) -> None:
        """Open the index that has taken the place of the one that is open."""
        with self._opening:
            if self._closed.is_set() or self.current.token == generation_of(self.folder):
                return
            former = self.current
            self._current = self._opened()
            former.retire()
        if self._warmed:
            self.current.warm()

    def _opened(self) -> Generation:
        """Open the index; once more if another took its place meanwhile, for then parts of both were read."""
        for _ in range(_TRIES):
            before = generation_of(self.folder) if Description.is_in(self.folder) else None
            try:
                return self._open()
            except Exception:
                if before is None or generation_of(self.folder) == before:
                    raise
        raise BackendUnavailableError("the index is replaced again and again; try again in a moment.")

    def _keep_trying(self) -> None:
        """Open the index as soon as its engine is there; what is in the way is logged whenever it changes."""
        while not self._closed.wait(_PAUSE_S):
            try:
                opened = self._opened()
            except DiptychError as error:
                if str(error) != str(self._absence):
                    log.error("the index cannot be opened yet: %s", getattr(error, "details", None) or error)
                self._absence = error
                continue
            if self._warmed:
                opened.warm()
            with self._opening:
                if self._closed.is_set():
                    opened.retire()
                else:
                    self._current = opened
            return
