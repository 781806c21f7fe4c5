"""Teaching behind the server: answers and models of the index, asked from an event loop."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from diptych._core.errors import BackendUnavailableError, ConfigError, DataError
from diptych.search import Answer, Hit, Query, QueryPart, Searcher
from diptych.search.index_folder import Description
from diptych.serving import ServingSettings
from diptych.serving.errors import Problem, busy
from diptych.teach import JobState, LearnJob, ModelRecord, Models, Teacher, UnknownItemError, UnknownModelError
from diptych.teach.learning import check_taught, dataset_of

T = TypeVar("T")
_MOST_OPEN = 2
"""Earlier indexes that are open at one time, to compare with."""
_MOST_WAITING = 64
"""Requests that may wait for one thread."""


@dataclass(frozen=True)
class Comparison:
    """What one query found before, and what it finds now."""

    query: str
    before: Sequence[Hit]
    after: Sequence[Hit]

    @property
    def kept(self) -> int:
        """How many items are among both."""
        return len({hit.item for hit in self.before} & {hit.item for hit in self.after})


class TeachService:
    """A teacher that may be asked from an event loop; one thread answers, so that nobody's search waits for it.

    Args:
        searcher: the index; anything but a `Searcher` cannot be taught.
        settings: of the server.
        swapped: called when another index was put in the place of the one that is served.
    """

    def __init__(self, searcher: object, settings: ServingSettings, swapped: Callable[[], None]) -> None:
        self._searcher = searcher if isinstance(searcher, Searcher) else None
        self._dataset, self._swapped = settings.dataset, swapped
        self._thread = ThreadPoolExecutor(1, "diptych-teach")
        self._comparing = ThreadPoolExecutor(1, "diptych-compare")
        self._teacher: Teacher | None = None
        self._job = None if self._searcher is None else LearnJob(self._searcher.generations.folder)
        self._earlier: OrderedDict[str, Searcher] = OrderedDict()
        self._opening = Lock()
        self._waiting: Counter[ThreadPoolExecutor] = Counter()

    async def ask(self, look: Callable[[Teacher], T]) -> T:
        """What the teacher says, told as problems where an item is unknown.

        Raises:
            Problem: 404 for an item that is not there, 409 where the index cannot be taught.
        """
        return await self._in(self._thread, lambda: look(self._opened()))

    async def learn(self) -> JobState:
        """Begin to learn.

        Raises:
            Problem: 409 where it runs already, too little was taught, or the dataset is not there.
        """
        job = self._job_here()

        def begin() -> JobState:
            teacher = self._opened()
            known = Description.read(teacher.folder)
            named = {label.item: label.label for label in teacher.labels.all().values() if label.label is not None}
            try:
                check_taught(named, dataset_of(teacher.folder, known, self._dataset))
                return job.start(dataset=self._dataset)
            except ConfigError as error:
                raise Problem(409, "nothing_taught", str(error)) from None
            except BackendUnavailableError as error:
                raise Problem(409, "busy", str(error)) from None
            except DataError as error:
                raise Problem(409, "no_dataset", str(error)) from None

        return await self._in(self._thread, begin)

    async def can_learn(self) -> str | None:
        """Why nothing can be learned here; None if it can."""

        def look() -> str | None:
            teacher = self._opened()
            try:
                dataset_of(teacher.folder, Description.read(teacher.folder), self._dataset)
            except DataError as error:
                return str(error)
            return None

        return await self._in(self._thread, look)

    async def state(self) -> JobState:
        """How far learning is."""
        return await self._in(self._comparing, self._job_here().state)

    async def cancel(self) -> JobState:
        """Cancel learning."""
        return await self._in(self._comparing, self._job_here().cancel)

    async def models(self) -> list[tuple[ModelRecord, bool, bool]]:
        """Every model, the newest first, whether it is in force, and whether its index is kept."""

        def look() -> list[tuple[ModelRecord, bool, bool]]:
            models = self._models()
            active = models.active().id
            return [(one, one.id == active, models.is_kept(one.id)) for one in reversed(models.all())]

        return await self._in(self._comparing, look)

    async def activate(self, id: str) -> ModelRecord:
        """Go back to an earlier model, or forth to a later one."""

        def change() -> ModelRecord:
            self._close_earlier()
            try:
                return self._models().activate(id)
            except BackendUnavailableError as error:
                raise Problem(409, "busy", str(error)) from None
            except UnknownModelError as error:
                raise Problem(404, "not_found", str(error)) from None
            except DataError as error:
                raise Problem(409, "not_kept", str(error)) from None

        record = await self._in(self._comparing, change)
        self._swapped()
        return record

    async def compare(self, queries: Sequence[str], k: int, before: str | None) -> tuple[str, str, list[Comparison]]:
        """What typed queries found with an earlier model and find with the one in force; the names of both first."""

        def look() -> tuple[str, str, list[Comparison]]:
            models, current = self._models(), self._searcher
            assert current is not None
            active = models.active()
            chosen = before or active.before or next((one.id for one in models.all() if one.id != active.id), None)
            if chosen is None or chosen == active.id or not models.is_kept(models.get(chosen).id):
                raise Problem(409, "not_kept", "there is no earlier model whose index is kept to compare with.")
            asked = [Query((QueryPart("text", text),), k=k) for text in queries]
            pairs = zip(
                queries, _found(self._earlier_index(models, chosen), asked), _found(current, asked), strict=True
            )
            return chosen, active.id, [Comparison(text, first, second) for text, first, second in pairs]

        try:
            return await self._in(self._comparing, look)
        except UnknownModelError as error:
            raise Problem(404, "not_found", str(error)) from None

    def close(self) -> None:
        """Give back files and threads; learning goes on in its own process."""
        self._thread.shutdown(wait=True)
        self._comparing.shutdown(wait=True)
        self._close_earlier()
        if self._teacher is not None:
            self._teacher.close()

    def _opened(self) -> Teacher:
        if self._searcher is None:
            raise Problem(409, "cannot_teach", "this server's index cannot be taught.")
        if self._teacher is None:
            self._teacher = Teacher(self._searcher)
        return self._teacher

    def _models(self) -> Models:
        if self._searcher is None:
            raise Problem(409, "cannot_teach", "this server's index cannot be taught.")
        return Models(self._searcher.generations.folder)

    def _job_here(self) -> LearnJob:
        if self._job is None:
            raise Problem(409, "cannot_teach", "this server's index cannot be taught.")
        return self._job

    def _earlier_index(self, models: Models, id: str) -> Searcher:
        with self._opening:
            if id not in self._earlier:
                self._earlier[id] = Searcher.open(models.place_of(id))
                while len(self._earlier) > _MOST_OPEN:
                    self._earlier.popitem(last=False)[1].close()
            self._earlier.move_to_end(id)
            return self._earlier[id]

    def _close_earlier(self) -> None:
        with self._opening:
            while self._earlier:
                self._earlier.popitem()[1].close()

    async def _in(self, executor: ThreadPoolExecutor, call: Callable[[], T]) -> T:
        if self._waiting[executor] >= _MOST_WAITING:
            raise busy()
        self._waiting[executor] += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(executor, call)
        except UnknownItemError as error:
            raise Problem(404, "not_found", str(error)) from None
        finally:
            self._waiting[executor] -= 1


def _found(searcher: Searcher, queries: Sequence[Query]) -> list[Sequence[Hit]]:
    """The hits of each query; none for one that an index can make nothing of."""
    return [answer.hits if isinstance(answer, Answer) else () for answer in searcher.answer_many(queries)]
