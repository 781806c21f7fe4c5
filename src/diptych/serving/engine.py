"""The searcher behind the server: calls that block run in threads, queries in batches."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from diptych.search import Answer, NewItem, Query, Searcher
from diptych.serving.batching import Batcher
from diptych.serving.metrics import Metrics
from diptych.serving.pictures import check_picture
from diptych.serving.problems import Problem
from diptych.serving.settings import ServingSettings

T = TypeVar("T")
_INFO_S = 2.0
_READERS = 4


class Engine:
    """A searcher that may be asked from an event loop.

    Words are quick and pictures slow, so each have a thread: a large picture does not hold up those who type. Writes
    share the thread of the pictures, because decoding is safe in one thread at a time.
    """

    def __init__(self, searcher: Searcher, settings: ServingSettings, metrics: Metrics) -> None:
        self._searcher, self._settings, self._metrics = searcher, settings, metrics
        self._readers = ThreadPoolExecutor(_READERS, "diptych-read")
        self._words = ThreadPoolExecutor(1, "diptych-words")
        self._pictures = ThreadPoolExecutor(1, "diptych-pictures")
        lane = partial(
            Batcher[Query, Answer],
            self._answer,
            most=settings.max_batch,
            waiting=settings.max_waiting,
        )
        self._word_lane, self._picture_lane = lane(executor=self._words), lane(executor=self._pictures)
        self._info: tuple[float, dict[str, Any]] | None = None
        self.writes = 0

    async def search(self, query: Query) -> Answer:
        """The answer to a query, found together with those of others."""
        shows_pictures = any(isinstance(part.value, bytes) for part in query.parts)
        return await (self._picture_lane if shows_pictures else self._word_lane).ask(query)

    async def read(self, look: Callable[[Searcher], T]) -> T:
        """Anything else that only reads."""
        return await self._in(self._readers, partial(look, self._searcher))

    async def info(self) -> dict[str, Any]:
        """What the searcher says of itself, at most two seconds old."""
        if self._info is None or time.monotonic() - self._info[0] > _INFO_S:
            self._info = time.monotonic(), await self.read(lambda searcher: searcher.info())
        return self._info[1]

    async def add(self, items: Sequence[NewItem], *, replace: bool) -> int:
        """Add items, or put them in the place of those with their ids."""
        count = await self._in(self._pictures, partial(self._add, items, replace))
        self._changed("replaced" if replace else "added", count)
        return count

    async def remove(self, ids: Sequence[str]) -> int:
        """Remove items."""
        count = await self._in(self._pictures, partial(self._searcher.remove, ids))
        self._changed("removed", count)
        return count

    def close(self) -> None:
        """Finish what was begun and close the searcher."""
        for executor in (self._words, self._pictures, self._readers):
            executor.shutdown(wait=True)
        self._searcher.close()

    def _answer(self, batch: Sequence[Query]) -> Sequence[Answer | Exception]:
        """Answer queries of several people; a bad one does not spoil the others."""
        self._metrics.batch.observe(len(batch))
        refused: dict[int, Exception] = {}
        for place, query in enumerate(batch):
            try:
                self._check_pictures([part.value for part in query.parts])
            except Problem as problem:
                refused[place] = problem
        good = [query for place, query in enumerate(batch) if place not in refused]
        answers = iter(self._searcher.answer_many(good) if good else [])
        return [refused[place] if place in refused else next(answers) for place in range(len(batch))]

    def _add(self, items: Sequence[NewItem], replace: bool) -> int:
        self._check_pictures([item.value for item in items])
        return self._searcher.add(items, replace=replace)

    def _check_pictures(self, values: Sequence[object]) -> None:
        for value in values:
            if isinstance(value, bytes):
                check_picture(value, self._settings.max_upload_bytes, self._settings.max_pixels)

    def _changed(self, change: str, count: int) -> None:
        self._info = None
        self.writes += 1
        self._metrics.written.labels(change).inc(count)

    @staticmethod
    async def _in(executor: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, call)
