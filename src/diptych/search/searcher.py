"""Search an index by text, by image, by an item it holds, or by any mixture of these."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, TypeVar, Unpack

from diptych._core.errors import BackendUnavailableError, ConfigError, DiptychError
from diptych.methods.purposes import Purpose
from diptych.search.calibration import Calibration
from diptych.search.generation import Generation
from diptych.search.hits import Answer, Hit, plain_hits
from diptych.search.index_folder import generation_of, write_lock
from diptych.search.query import ImageSource, Mode, Query, QueryPart, query_parts
from diptych.search.spaces import living_points
from diptych.search.writer import NewItem

T = TypeVar("T")
_List = list
"""`Searcher.list` hides the name inside the class."""
_TRIES = 5


class QueryOptions(TypedDict, total=False):
    """The options of `Searcher.search`."""

    into: str | None
    k: int
    offset: int
    where: str | None
    min_probability: float
    purpose: Purpose
    mode: Mode
    correct: bool


class Searcher:
    """An index that is open; threads may share it. Open one with `Searcher.open(folder)`.

    When another index takes the place of the folder, as `diptych index --overwrite` does, it is opened in turn: an
    answer never mixes two indexes, and no change goes into one that was replaced.

    No error of its methods says where files lie, so that strangers may read them.
    """

    def __init__(self, folder: Path, *, writable: bool = False, url: str | None = None) -> None:
        self._folder, self._writable, self._url = folder, writable, url
        self._opening = threading.Lock()
        self._warmed = self._closed = False
        self._current = Generation(folder, writable=writable, url=url)

    @classmethod
    def open(cls, place: str | Path, *, writable: bool = False, url: str | None = None) -> "Searcher":
        """Open the folder that `diptych index` made.

        Args:
            place: the folder.
            writable: whether items may be added and removed.
            url: the address of the engine's server, if it has one; else that in the environment variable
                DIPTYCH_ENGINE_URL, or the one it was built with, without its password.

        Raises:
            DataError: when it is none, or the model in it is not the one that made its vectors.
        """
        return cls(Path(place), writable=writable, url=url)

    @property
    def modalities(self) -> tuple[str, ...]:
        """What can be searched."""
        return self._current.model.modalities

    @property
    def purposes(self) -> tuple[Purpose, ...]:
        """What a query may look for; empty where the index has a single space."""
        return self._current.spaces.purposes

    @property
    def calibration(self) -> Calibration:
        """How cosines become probabilities, and how well they do on test items."""
        return self._current.calibration

    @property
    def generation(self) -> object:
        """Differs once another index has taken the place of this one."""
        return self._current.token

    def warm(self) -> None:
        """Load encoders now rather than at the first query."""
        self._warmed = True
        self._current.raw.warm()

    def search(
        self,
        parts: Sequence[QueryPart] = (),
        *,
        text: str | None = None,
        image: ImageSource | None = None,
        into: str | None = None,
        k: int = 10,
        offset: int = 0,
        where: str | None = None,
        min_probability: float = 0.0,
        purpose: Purpose = "auto",
        mode: Mode = "hybrid",
        correct: bool = True,
    ) -> Answer:
        """Find what belongs to a query: the weighted sum of its parts' directions.

        Args:
            parts: what to look for; items of the index named here are left out of the answer.
            text: a text to look for, as a further part.
            image: an image to look for, as a further part: a path, the bytes of a file, or decoded pixels.
            into: the modality whose entries are the hits; None: a hit is an item with all its sides.
            k: how many hits.
            offset: leave out so many of the best.
            where: only items that meet this condition, such as "split = 'train' and label in ('river', 'pond')".
            min_probability: only items that belong with at least this probability; there may be none.
            purpose: what to look for, where the index has several spaces: things of this kind ("class"), the very item
                ("partner"), or anything alike ("both"); "auto" is "partner" for texts that ask for items, else "both".
            mode: by which evidence typed text is ranked: embeddings and matching words ("hybrid"), embeddings alone
                ("vector"), or matching words alone ("lexical").
            correct: whether to answer for the corrected words where no text holds the words as typed.
        """
        options = Query((), into, k, offset, where, min_probability, purpose, mode, correct)
        return self._search([query_parts(parts, text=text, image=image)], options)[0]

    def search_many(self, queries: Sequence[Sequence[QueryPart]], **options: Unpack[QueryOptions]) -> _List[Answer]:
        """Like `search` for several queries; what is alike is embedded together. The first bad query is an error."""
        return self._search(queries, Query((), **options))

    def similar(self, id: str, **options: Unpack[QueryOptions]) -> Answer:
        """More like this item, which itself is left out; the options are those of `search`."""
        return self._search([[QueryPart("item", id)]], Query((), **options))[0]

    def answer_many(self, queries: Sequence[Query]) -> _List[Answer | DiptychError]:
        """Answer queries of different people together: an answer or an error for each."""

        def answered(index: Generation) -> _List[Answer | DiptychError]:
            wrong = {place: error for place, query in enumerate(queries) if (error := index.keys.problem(query.where))}
            rest = [query for place, query in enumerate(queries) if place not in wrong]
            answers = iter(index.answerer.answer_many(rest))
            found = [wrong[place] if place in wrong else next(answers) for place in range(len(queries))]
            return [index.public(one) if isinstance(one, DiptychError) else one for one in found]

        return self._read(answered)

    def suggest(self, prefix: str, limit: int = 8) -> _List[str]:
        """How a typed query may go on: labels, short texts and words of the index that begin so."""
        return self._read(lambda index: index.suggester.suggest(prefix, limit))

    def get(self, id: str) -> Hit | None:
        """One item, with score 1; None if there is none."""

        def found(index: Generation) -> Hit | None:
            item = index.index.get([id])[0]
            return None if item is None else plain_hits(index.index, [item], index.model.modalities)[0]

        return self._read(found)

    def list(
        self, *, where: str | None = None, modality: str | None = None, after: str = "", limit: int = 100
    ) -> _List[Hit]:
        """Items in the order of their ids, a page at a time: `after` is the last id of the page before."""

        def page(index: Generation) -> _List[Hit]:
            ids = index.index.list_ids(where=where, modality=modality, after=after, limit=limit)
            items = [item for item in index.index.get(ids) if item is not None]
            return plain_hits(index.index, items, index.model.modalities)

        return self._read(page)

    def count(self, *, where: str | None = None, modality: str | None = None) -> int:
        """How many items there are, or how many meet a condition."""
        return self._read(lambda index: index.index.count(where=where, modality=modality))

    def add(self, items: Sequence[NewItem], *, replace: bool = False) -> int:
        """Embed and add texts and images, all or none.

        Args:
            items: what to add.
            replace: whether an item of the same id is replaced; else it is an error.
        """
        with self._writing() as index:
            done = index.writer.add(items, replace=replace)
            index.keys.note(key for item in items for key in item.metadata)
        return done

    def remove(self, ids: Sequence[str]) -> int:
        """Remove items; ids that are not there are passed over. Returns how many were there."""
        with self._writing() as index:
            return index.writer.remove(ids)

    def info(self) -> dict[str, Any]:
        """What the index is: modalities are counted now, classes and splits were counted when it was built."""
        return self._read(lambda index: index.info())

    def thumbnail(self, id: str) -> bytes | None:
        """A small WebP image of an item; None if the item is not in the index or has none."""
        return self._read(lambda index: index.thumbnail(id))

    def original(self, id: str) -> tuple[bytes, str] | None:
        """An item's image as it was indexed, and its media type; None if it has none.

        Where the original is gone or has changed since, as in an index that was copied without its images, it is the
        thumbnail.
        """
        return self._read(lambda index: index.original(id))

    def projection(self) -> _List[dict[str, Any]] | None:
        """Where the items stood in two dimensions when the index was built; those removed since are left out."""
        return self._read(lambda index: living_points(index.folder, index.index))

    def close(self) -> None:
        """Give back files; closing twice does no harm."""
        self._closed = True
        self._current.retire()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _search(self, queries: Sequence[Sequence[QueryPart]], options: Query) -> _List[Answer]:
        answers = self.answer_many([replace(options, parts=tuple(parts)) for parts in queries])
        for answer in answers:
            if isinstance(answer, DiptychError):
                raise answer
        return [answer for answer in answers if isinstance(answer, Answer)]

    def _read(self, look: Callable[[Generation], T]) -> T:
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
    def _writing(self) -> Iterator[Generation]:
        """The generation to change, which nothing replaces meanwhile."""
        if not self._writable:
            raise ConfigError("this index is open for reading only; open it for writing to change it.")
        for _ in range(_TRIES):
            with write_lock(self._folder), self._using(follow=False) as index:
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
        if follow and not self._current.is_current:
            self._follow()
        index = self._current
        while not index.enter():
            if self._closed:
                raise ConfigError("this index is closed; open it again.")
            index = self._current
        try:
            yield index
        finally:
            index.leave()

    def _follow(self) -> None:
        """Open the index that has taken the place of the one that is open."""
        with self._opening:
            if self._closed or self._current.token == generation_of(self._folder):
                return
            former = self._current
            self._current = Generation(self._folder, writable=self._writable, url=self._url)
            former.retire()
        if self._warmed:
            self._current.raw.warm()
