"""The searcher behind the server: calls that block run in threads, queries in batches."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from diptych._core.errors import BackendUnavailableError, DiptychError
from diptych.search import Answer, Hit, NewItem, Projection, Query, Sort
from diptych.serving import ServingSettings
from diptych.serving.batching import Batcher
from diptych.serving.errors import Problem, busy
from diptych.serving.requests import check_file
from diptych.serving.teaching import TeachService

if TYPE_CHECKING:
    from diptych.serving.app import Metrics

log = logging.getLogger("diptych.serving")

T = TypeVar("T")
list_ = list
"""A method of `SearchBackend` hides the name inside the class."""
_INFO_S, _READY_S, _READERS, _LARGE_TOGETHER = 2.0, 3.0, 4, 2
_PIXELS_TOGETHER = 24_000_000
"""Decoded images that are held at one time, as large as those of one query at most."""
_TIMES_PIXELS = 4
"""Of the largest image allowed: so much may the files of one request decode to together."""
_MOST_WAITING = 64
"""Requests that may wait for the thread of suggestions, and for that of what may take long."""
_FAR_DOWN, _LONG = 1_000, 1_000
"""Results passed over and characters typed from which on a query is slow."""


class SearchBackend(Protocol):
    """What the server needs of a searcher; `diptych.search.Searcher` has all of it."""

    @property
    def generation(self) -> object:
        """Differs once another index has taken the place of this one."""

    def answer_many(self, queries: Sequence[Query]) -> Sequence[Answer | DiptychError]:
        """Answer several queries: an answer or an error for each."""

    def suggest(self, prefix: str, limit: int = 8) -> list_[str]:
        """How a typed query may go on."""

    def get(self, id: str) -> Hit | None:
        """One entry, None if there is none."""

    def list(
        self, *, where: str | None = None, modality: str | None = None, after: str = "", limit: int = 100
    ) -> list_[Hit]:
        """Entries in the order of their ids."""

    def browse(
        self, *, where: str | None = None, sort: Sort = "name", offset: int = 0, k: int = 100
    ) -> tuple[list_[Hit], int]:
        """Items without a query, each once, and how many there are."""

    def facets(self, query: Query, keys: Sequence[str]) -> tuple[dict[str, dict[str, int]], int]:
        """How many results have each value of some keys, and how many were counted."""

    def signatures(self, ids: Sequence[str]) -> list_[str | None]:
        """Signatures by which near-duplicates are found."""

    def add(self, items: Sequence[NewItem], *, replace: bool = False) -> int:
        """Add items, all or none."""

    def edit(self, id: str, *, text: str | None = None, metadata: Mapping[str, Any] | None = None) -> int:
        """Change an item's text and metadata; returns how many entries were changed."""

    def remove(self, ids: Sequence[str], *, whole: bool = False, missing_ok: bool = True) -> int:
        """Remove entries, or the whole items that they are of, all or none unless some may be missing; how many."""

    def info(self) -> dict[str, Any]:
        """What the index holds."""

    def thumbnail(self, id: str) -> bytes | None:
        """A small image of an entry's image or sound."""

    def original(self, id: str) -> tuple[bytes, str] | None:
        """An entry's file as it was indexed, and its media type."""

    def projection(self) -> list_[dict[str, Any]] | None:
        """The positions of the entries in two dimensions."""

    def map(self) -> Projection | None:
        """The positions of the items, each once."""

    def backup(self, target: str | Path) -> Path:
        """Write the index into one file."""

    def close(self) -> None:
        """Give back files."""


class SearchService:
    """A searcher that may be asked from an event loop.

    Texts are quick; images are slow, and so are queries with a condition, far down a list or of a long text. Each have
    a thread: neither a large image nor a laborious condition holds up those who type. Suggestions have one too, for
    they are worth nothing late. Writes share the thread of the images. Whoever comes while too many wait is told so.

    Attributes:
        teaching: what can be taught to the index.
    """

    def __init__(self, searcher: SearchBackend, settings: ServingSettings, metrics: "Metrics") -> None:
        self._searcher, self._settings, self._metrics = searcher, settings, metrics
        self.teaching = TeachService(searcher, settings, self._forget_info)
        self._readers = ThreadPoolExecutor(_READERS, "diptych-read")
        self._words = ThreadPoolExecutor(1, "diptych-words")
        self._slow = ThreadPoolExecutor(1, "diptych-slow")
        self._images = ThreadPoolExecutor(1, "diptych-images")
        self._suggesting = ThreadPoolExecutor(1, "diptych-suggest")
        self._checking = ThreadPoolExecutor(1, "diptych-ready")
        self._check: asyncio.Future[Any] | None = None
        self._backing_up = asyncio.Lock()
        self._away: dict[ThreadPoolExecutor, tuple[float, str]] = {}
        self._large = asyncio.Semaphore(_LARGE_TOGETHER)
        self._waiting: Counter[ThreadPoolExecutor] = Counter()
        lane = partial(Batcher[Query, Answer], most=settings.max_batch, waiting=settings.max_waiting)
        self._word_lane, self._slow_lane = (lane(self._answer, executor=each) for each in (self._words, self._slow))
        self._image_lane = lane(self._answer_files, executor=self._images)
        self._info: tuple[float, dict[str, Any]] | None = None
        self._writes = 0

    async def search(self, query: Query) -> Answer:
        """The answer to a query, found together with those of others."""
        typed = 0
        for part in query.parts:
            if not isinstance(part.value, str):
                return await self._image_lane.ask(query)
            typed += len(part.value)
        slow = query.where is not None or query.offset > _FAR_DOWN or query.sort != "score" or typed > _LONG
        return await (self._slow_lane if slow else self._word_lane).ask(query)

    async def facets(self, query: Query, keys: Sequence[str]) -> tuple[dict[str, dict[str, int]], int]:
        """How many of the best results of a query have each value of some keys, and how many were counted."""

        def counted() -> tuple[dict[str, dict[str, int]], int]:
            self._check_files([(part.kind, part.value) for part in query.parts])
            return self._searcher.facets(query, keys)

        files = any(isinstance(part.value, bytes) for part in query.parts)
        return await self._in(self._images if files else self._slow, counted)

    async def suggest(self, prefix: str, limit: int) -> list[str]:
        """Completions of what was typed."""
        return await self._in(self._suggesting, partial(self._searcher.suggest, prefix, limit))

    async def read(self, look: Callable[[SearchBackend], T], *, slow: bool = False) -> T:
        """Anything else that only reads; what may take long has a thread apart from the rest."""
        return await self._in(self._slow if slow else self._readers, partial(look, self._searcher))

    async def read_large(self, look: Callable[[SearchBackend], T]) -> T:
        """What may be megabytes, such as an image: a few at a time, else threads would read ahead of what is sent."""
        async with self._large:
            return await self.read(look)

    async def problem(self) -> str | None:
        """Why the index cannot be read now, within three seconds; None if it can.

        However many ask, one thread looks: a backend that hangs takes no other thread with it.
        """
        if self._check is None or self._check.done():
            self._check = asyncio.ensure_future(self._in(self._checking, lambda: self._searcher.list(limit=1)))
        try:
            await asyncio.wait_for(asyncio.shield(self._check), _READY_S)
        except TimeoutError:
            return f"the index did not answer within {_READY_S:g} s"
        except BackendUnavailableError as error:
            return str(error).rstrip(".")
        except Exception:
            log.exception("the index cannot be read")
            return "the index cannot be read; the log of the server says why"
        return None

    async def info(self) -> dict[str, Any]:
        """What the searcher says of itself, at most two seconds old."""
        if self._info is None or time.monotonic() - self._info[0] > _INFO_S:
            self._info = time.monotonic(), await self.read(lambda searcher: searcher.info())
        return self._info[1]

    async def add(self, items: Sequence[NewItem], *, replace: bool) -> int:
        """Add items, or put them in the place of those with their ids."""
        count = await self._in(self._images, partial(self._add, items, replace))
        self._changed("replaced" if replace else "added", count)
        return count

    async def edit(self, id: str, text: str | None, metadata: Mapping[str, Any]) -> int:
        """Change an item's text and metadata."""
        count = await self._in(self._images, partial(self._searcher.edit, id, text=text, metadata=metadata))
        self._changed("replaced", count)
        return count

    async def remove(self, ids: Sequence[str], *, whole: bool = False, missing_ok: bool = True) -> int:
        """Remove entries, or the whole items that they are of."""
        count = await self._in(self._images, partial(self._searcher.remove, ids, whole=whole, missing_ok=missing_ok))
        self._changed("removed", count)
        return count

    async def backup(self, target: Path) -> Path:
        """Write the index into a file, one at a time; whoever asks meanwhile is told to come back."""
        if self._backing_up.locked():
            raise Problem(503, "busy", "a backup is being written; try again when it is done.", {"Retry-After": "10"})
        async with self._backing_up:
            return await asyncio.to_thread(self._searcher.backup, target)

    @property
    def version(self) -> object:
        """Differs after a change, and after another index has taken the place of this one."""
        return self._writes, self._searcher.generation

    def close(self) -> None:
        """Finish what was begun and close the searcher."""
        for executor in (self._words, self._slow, self._images, self._suggesting, self._readers, self._checking):
            executor.shutdown(wait=True)
        self.teaching.close()
        self._searcher.close()

    def _answer(self, batch: Sequence[Query]) -> Sequence[Answer | Exception]:
        """Answer queries of several people; a bad one does not spoil the others."""
        self._metrics.batch.observe(len(batch))
        return self._searcher.answer_many(batch)

    def _answer_files(self, batch: Sequence[Query]) -> Sequence[Answer | Exception]:
        """The same for queries with files, a few at a time."""
        refused: dict[int, Exception] = {}
        pixels: dict[int, int] = {}
        for place, query in enumerate(batch):
            try:
                pixels[place] = self._check_files([(part.kind, part.value) for part in query.parts])
            except Problem as problem:
                refused[place] = problem
        answers: dict[int, Answer | Exception] = dict(refused)
        for places in _within(pixels, _PIXELS_TOGETHER):
            answers.update(zip(places, self._answer([batch[place] for place in places]), strict=True))
        return [answers[place] for place in range(len(batch))]

    def _add(self, items: Sequence[NewItem], replace: bool) -> int:
        self._check_files([(item.kind, item.value) for item in items])
        return self._searcher.add(items, replace=replace)

    def _check_files(self, values: Sequence[tuple[str, object]]) -> int:
        """Refuse files that are too large; returns how many pixels or samples the others will be decoded to."""
        total = sum(check_file(kind, value, self._settings) for kind, value in values if isinstance(value, bytes))
        if total > _TIMES_PIXELS * self._settings.max_pixels:
            raise Problem(413, "too_large", f"the files decode to {total:,} values together; send fewer at a time.")
        return total

    def _forget_info(self) -> None:
        self._info = None

    def _changed(self, change: str, count: int) -> None:
        self._info = None
        self._writes += 1
        self._metrics.written.labels(change).inc(count)

    async def _in(self, executor: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        few = executor in (self._slow, self._suggesting)
        if self._waiting[executor] >= (_MOST_WAITING if few else self._settings.max_waiting):
            raise busy()
        asked = time.monotonic()

        def tried() -> T:
            """One finds out that the database is away for all who wait in the same line."""
            found, sentence = self._away.get(executor, (0.0, ""))
            if found > asked:
                raise BackendUnavailableError(sentence)
            try:
                return call()
            except BackendUnavailableError as error:
                self._away[executor] = time.monotonic(), str(error)
                raise

        self._waiting[executor] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, tried)
        finally:
            self._waiting[executor] -= 1


def _within(costs: dict[int, int], most: int) -> list[list[int]]:
    """Queries in groups of which none costs more than allowed, unless it is a single query."""
    groups: list[list[int]] = []
    left = 0
    for place, cost in costs.items():
        if not groups or cost > left:
            groups.append([])
            left = most
        groups[-1].append(place)
        left -= cost
    return groups
