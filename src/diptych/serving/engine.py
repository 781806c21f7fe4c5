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
from diptych.serving.problems import Problem, busy
from diptych.serving.settings import ServingSettings

T = TypeVar("T")
_INFO_S = 2.0
_READERS = 4
_PIXELS_TOGETHER = 24_000_000
"""Decoded images that are held at one time, as large as those of one query at most."""
_MOST_SUGGESTIONS_WAITING = 64


class Engine:
    """A searcher that may be asked from an event loop.

    Texts are quick and images slow, so each have a thread: a large image does not hold up those who type. Suggestions
    have one too, for they are worth nothing late. Writes share the thread of the images, because decoding is safe in
    one thread at a time.
    """

    def __init__(self, searcher: Searcher, settings: ServingSettings, metrics: Metrics) -> None:
        self._searcher, self._settings, self._metrics = searcher, settings, metrics
        self._readers = ThreadPoolExecutor(_READERS, "diptych-read")
        self._words = ThreadPoolExecutor(1, "diptych-words")
        self._pictures = ThreadPoolExecutor(1, "diptych-pictures")
        self._suggesting = ThreadPoolExecutor(1, "diptych-suggest")
        self._suggestions_waiting = 0
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

    async def suggest(self, prefix: str, limit: int) -> list[str]:
        """Completions of what was typed; whoever comes while many wait is told to come back.

        Raises:
            Problem: 503, if too many wait already.
        """
        if self._suggestions_waiting >= _MOST_SUGGESTIONS_WAITING:
            raise busy()
        self._suggestions_waiting += 1
        try:
            return await self._in(self._suggesting, partial(self._searcher.suggest, prefix, limit))
        finally:
            self._suggestions_waiting -= 1

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
        for executor in (self._words, self._pictures, self._suggesting, self._readers):
            executor.shutdown(wait=True)
        self._searcher.close()

    def _answer(self, batch: Sequence[Query]) -> Sequence[Answer | Exception]:
        """Answer queries of several people; a bad one does not spoil the others."""
        self._metrics.batch.observe(len(batch))
        refused: dict[int, Exception] = {}
        pixels: dict[int, int] = {}
        for place, query in enumerate(batch):
            try:
                pixels[place] = self._check_pictures([part.value for part in query.parts])
            except Problem as problem:
                refused[place] = problem
        answers: dict[int, Answer | Exception] = dict(refused)
        for places in _within(pixels, _PIXELS_TOGETHER):
            found = self._searcher.answer_many([batch[place] for place in places])
            answers.update(zip(places, found, strict=True))
        return [answers[place] for place in range(len(batch))]

    def _add(self, items: Sequence[NewItem], replace: bool) -> int:
        self._check_pictures([item.value for item in items])
        return self._searcher.add(items, replace=replace)

    def _check_pictures(self, values: Sequence[object]) -> int:
        """Refuse images that are too large; returns how many pixels the others will be decoded to."""
        return sum(check_picture(value, self._settings) for value in values if isinstance(value, bytes))

    def _changed(self, change: str, count: int) -> None:
        self._info = None
        self.writes += 1
        self._metrics.written.labels(change).inc(count)

    @staticmethod
    async def _in(executor: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, call)


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
