"""Search an index by text, by image, by sound, by an item it holds, or by any mixture of these."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack

from diptych._core.errors import DiptychError
from diptych.index import ItemLimits
from diptych.methods.purposes import Purpose
from diptych.search.backup import backup_index
from diptych.search.browse import SORTED, count_hits, in_order
from diptych.search.browse.projection import Projection, item_map, living_points
from diptych.search.generation import Generation
from diptych.search.handover import Generations
from diptych.search.hits import Answer, Hit, plain_hits
from diptych.search.probability.calibration import Calibration
from diptych.search.query import MediaValue, Mode, Query, QueryPart, Sort, query_parts
from diptych.search.writer import NewItem

_List = list
"""`Searcher.list` hides the name inside the class."""


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
    sort: Sort


class Searcher:
    """An index that is open; threads may share it. Open one with `Searcher.open(folder)`.

    When the index is replaced, as by `diptych index --overwrite`, the new one is opened automatically: an answer never
    mixes two indexes, and no change is written to a replaced one.

    Errors of its methods contain no file paths, so they can be sent to clients.

    Attributes:
        generations: the open parts of the index, for advanced use.
    """

    def __init__(self, generations: Generations) -> None:
        self.generations = generations

    @classmethod
    def open(
        cls,
        place: str | Path,
        *,
        writable: bool = False,
        url: str | None = None,
        limits: ItemLimits | None = None,
        time_limit_s: float | None = None,
        wait_s: float | None = None,
        retry: bool = False,
    ) -> "Searcher":
        """Open the folder that `diptych index` made.

        Args:
            place: the folder.
            writable: whether items may be added and removed.
            url: the URL of the engine's server, if it has one; by default that in the environment variable
                DIPTYCH_ENGINE_URL, or the one the index was built with, without its password.
            limits: limits on added items.
            time_limit_s: time limit of a query in the engine; by default the engine's own.
            wait_s: how long a change waits for other changes; by default the engine's own limit.
            retry: keep trying if the engine's server is unavailable; until it is available, every call raises
                `BackendUnavailableError`.

        Raises:
            DataError: if it is not an index, or its model is not the one that made its vectors.
            BackendUnavailableError: if the engine's server is unavailable, unless `retry` is given.
        """
        given = {"limits": limits, "time_limit_s": time_limit_s, "wait_s": wait_s}
        options = {name: value for name, value in given.items() if value is not None}
        return cls(Generations(Path(place), writable=writable, url=url, options=options, retry=retry))

    @property
    def modalities(self) -> tuple[str, ...]:
        """What can be searched."""
        return self.generations.current.model.modalities

    @property
    def purposes(self) -> tuple[Purpose, ...]:
        """What a query may look for; empty where the index has a single space."""
        return self.generations.current.spaces.purposes

    @property
    def calibration(self) -> Calibration:
        """How cosines become probabilities, and how well they do on test items."""
        return self.generations.current.calibration

    @property
    def generation(self) -> object:
        """Differs once another index has taken the place of this one."""
        return self.generations.current.token

    def warm(self) -> None:
        """Load encoders now rather than at the first query."""
        self.generations.warm()

    def search(
        self,
        parts: Sequence[QueryPart] = (),
        *,
        text: str | None = None,
        image: MediaValue | None = None,
        audio: MediaValue | None = None,
        into: str | None = None,
        k: int = 10,
        offset: int = 0,
        where: str | None = None,
        min_probability: float = 0.0,
        purpose: Purpose = "auto",
        mode: Mode = "hybrid",
        correct: bool = True,
        sort: Sort = "score",
    ) -> Answer:
        """Search by the weighted sum of the query's parts.

        Args:
            parts: the parts of the query; indexed items among them are excluded from the hits.
            text: a text as a further part.
            image: an image as a further part: a path, the bytes of a file, or decoded.
            audio: a sound as a further part.
            into: the modality whose entries are the hits; by default hits are whole items.
            k: how many hits.
            offset: skip this many of the best hits.
            where: a filter, such as "split = 'train' and label in ('river', 'pond')".
            min_probability: only hits with at least this probability of matching.
            purpose: what to find, if the index has several spaces: items of the same kind ("class"), the item's own
                partner ("partner"), or either ("both"); "auto" is "partner" for texts that search for items, else
                "both".
            mode: how typed text is ranked: by embeddings and matching words ("hybrid"), embeddings alone ("vector"), or
                matching words alone ("lexical").
            correct: search for corrected words if no text contains the words as typed.
            sort: "score", or "name" or "date" (newest first) to sort the best 1,000 results.
        """
        options = Query((), into, k, offset, where, min_probability, purpose, mode, correct, sort)
        return self._search([query_parts(parts, text=text, image=image, audio=audio)], options)[0]

    def search_many(self, queries: Sequence[Sequence[QueryPart]], **options: Unpack[QueryOptions]) -> _List[Answer]:
        """Like `search` for several queries, which are embedded in batches. The first invalid query is an error."""
        return self._search(queries, Query((), **options))

    def similar(self, id: str, **options: Unpack[QueryOptions]) -> Answer:
        """Items similar to an item, excluding it; the options are those of `search`."""
        return self._search([[QueryPart("item", id)]], Query((), **options))[0]

    def answer_many(self, queries: Sequence[Query]) -> _List[Answer | DiptychError]:
        """Answer queries of different people together: an answer or an error for each."""

        def answered(index: Generation) -> _List[Answer | DiptychError]:
            asked = [one if one.sort == "score" else replace(one, k=SORTED, offset=0) for one in queries]
            found = zip(queries, index.answerer.answer_many(asked), strict=True)
            return [index.public(one) if isinstance(one, DiptychError) else in_order(one, by) for by, one in found]

        return self.generations.read(answered)

    def suggest(self, prefix: str, limit: int = 8) -> _List[str]:
        """Completions of a typed query: labels, short texts and words of the index."""
        return self.generations.read(lambda index: index.suggester.suggest(prefix, limit))

    def get(self, id: str) -> Hit | None:
        """One item, with score 1; None if there is none."""

        def found(index: Generation) -> Hit | None:
            item = index.index.get([id])[0]
            return None if item is None else plain_hits(index.index, [item], index.model.modalities)[0]

        return self.generations.read(found)

    def list(
        self, *, where: str | None = None, modality: str | None = None, after: str = "", limit: int = 100
    ) -> _List[Hit]:
        """Items ordered by id, one page at a time: `after` is the last id of the previous page."""

        def page(index: Generation) -> _List[Hit]:
            ids = index.index.list_ids(where=where, modality=modality, after=after, limit=limit)
            items = [item for item in index.index.get(ids) if item is not None]
            return plain_hits(index.index, items, index.model.modalities)

        return self.generations.read(page)

    def browse(
        self, *, where: str | None = None, sort: Sort = "name", offset: int = 0, k: int = 100
    ) -> tuple[_List[Hit], int]:
        """Items without a query, each once, and how many there are; the order is by name, or by date, newest first."""

        def page(index: Generation) -> tuple[_List[Hit], int]:
            index.check(where)
            ids, total = index.catalogue.page(where, sort, offset, k)
            items = [item for item in index.index.get(ids) if item is not None]
            return plain_hits(index.index, items, index.model.modalities), total

        return self.generations.read(page)

    def facets(self, query: Query, keys: Sequence[str]) -> tuple[dict[str, dict[str, int]], int]:
        """How many items have each value of some keys, and how many items were counted.

        Counted are the best 1,000 results of a query; of one without parts, all items that meet its condition.
        """
        if query.parts:
            [answer] = self._search([query.parts], replace(query, k=SORTED, offset=0, sort="score"))
            return count_hits(answer.hits, keys), len(answer.hits)

        def counted(index: Generation) -> tuple[dict[str, dict[str, int]], int]:
            index.check(query.where)
            return index.catalogue.facets(keys, query.where), index.catalogue.count(query.where)

        return self.generations.read(counted)

    def signatures(self, ids: Sequence[str]) -> _List[str | None]:
        """Signatures by which near-duplicate images are found; None for items without an image."""
        return self.generations.read(lambda index: index.signatures.of(ids))

    def count(self, *, where: str | None = None, modality: str | None = None) -> int:
        """The number of items, or of those that match a filter."""
        return self.generations.read(lambda index: index.index.count(where=where, modality=modality))

    def add(self, items: Sequence[NewItem], *, replace: bool = False) -> int:
        """Embed and add texts and files, all or none; an existing id is an error unless `replace` is set."""
        with self.generations.writing() as index:
            done = index.writer.add(items, replace=replace)
            index.keys.note(key for item in items for key in item.metadata)
        return done

    def edit(self, id: str, *, text: str | None = None, metadata: Mapping[str, Any] | None = None) -> int:
        """Change an item's text, which is embedded anew, and metadata (None removes a key); all its entries agree then.

        Returns:
            How many entries were changed; none if there is no such item.
        """
        with self.generations.writing() as index:
            done = index.writer.edit(index.catalogue.entries_of([id]), text, metadata or {})
            index.keys.note(metadata or ())
        return done

    def remove(self, ids: Sequence[str], *, whole: bool = False, missing_ok: bool = True) -> int:
        """Remove entries or whole items; unknown ids are ignored, or an error that leaves everything as it is."""
        with self.generations.writing() as index:
            return index.writer.remove(ids, index.catalogue.entries_of(ids) if whole else (), missing_ok=missing_ok)

    def info(self) -> dict[str, Any]:
        """Facts about the index; modalities are counted now, classes and splits when it was built."""
        return self.generations.read(Generation.info)

    def thumbnail(self, id: str) -> bytes | None:
        """A small WebP image of an item; None if the item is not in the index or has none."""
        return self.generations.read(lambda index: index.thumbnail(id))

    def original(self, id: str) -> tuple[bytes, str] | None:
        """An item's image as it was indexed, and its media type; None if it has none.

        If the original is missing or has changed, as in an index that was copied without its images, the thumbnail is
        returned.
        """
        return self.generations.read(lambda index: index.original(id))

    def projection(self) -> _List[dict[str, Any]] | None:
        """Where the items stood in two dimensions when the index was built; those removed since are left out."""
        return self.generations.read(lambda index: living_points(index.folder, index.index))

    def map(self) -> Projection | None:
        """Where every item stands in two dimensions, each once, with its label of today; new ones among their kind."""
        return self.generations.read(
            lambda index: item_map(index.folder, index.index, index.catalogue, index.cluster_names)
        )

    def backup(self, target: str | Path) -> Path:
        """Write the index into one file, as it is at one moment; `diptych.search.restore_backup` makes one of it."""
        return backup_index(self.generations.current.folder, target)

    def close(self) -> None:
        """Close all files; closing twice is allowed."""
        self.generations.close()

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
