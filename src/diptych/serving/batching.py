"""Answer together what arrives together.

While one batch is being answered in a thread, the queries that arrive wait and become the next batch. A lone query is
answered at once: nothing waits for company, so batching costs no time when there is nothing to gain.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

from diptych._core.errors import BackendUnavailableError
from diptych.serving.errors import busy

Question = TypeVar("Question")
Reply = TypeVar("Reply")
Batch = list[tuple[Question, asyncio.Future[Reply]]]


class Batcher(Generic[Question, Reply]):
    """Gathers queries for a function that answers several at once.

    Args:
        answer: gives one reply or exception for each query; runs in the executor.
        executor: where `answer` runs, one call at a time.
        most: queries in one call.
        waiting: queries that may wait; more are refused.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Sequence[Reply | Exception]],
        *,
        executor: Executor,
        most: int,
        waiting: int,
    ) -> None:
        self._answer, self._executor = answer, executor
        self._most, self._most_waiting = most, waiting
        self._waiting: deque[tuple[Question, asyncio.Future[Reply]]] = deque()
        self._is_busy = False

    async def ask(self, query: Question) -> Reply:
        """The reply to one query.

        Raises:
            Problem: 503, if too many wait already.
        """
        if len(self._waiting) >= self._most_waiting:
            raise busy()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()
        self._waiting.append((query, future))
        if not self._is_busy:
            self._start(loop)
        return await future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        self._executor.submit(self._run, loop, batch)
        self._is_busy = True

    def _run(self, loop: asyncio.AbstractEventLoop, batch: Batch[Question, Reply]) -> None:
        """In the executor: answer, and tell the loop, which is woken only this once."""
        try:
            replies = self._answer([query for query, _ in batch])
        except Exception as error:
            replies = [error] * len(batch)
        loop.call_soon_threadsafe(self._hand_out, loop, batch, replies)

    def _hand_out(
        self, loop: asyncio.AbstractEventLoop, batch: Batch[Question, Reply], replies: Sequence[Reply | Exception]
    ) -> None:
        self._is_busy = False
        if replies and all(isinstance(reply, BackendUnavailableError) for reply in replies):
            # Who came while the database was found to be away need not find out, one batch after the other.
            batch, replies = [*batch, *self._waiting], [*replies, *[replies[0]] * len(self._waiting)]
            self._waiting.clear()
        if self._waiting:  # first, so that they are answered while these replies go out
            self._start(loop)
        for (_, future), reply in zip(batch, replies, strict=True):
            if future.done():  # its client has gone
                continue
            if isinstance(reply, Exception):
                future.set_exception(reply)
            else:
                future.set_result(reply)
