"""Answers: pages of hits with their probabilities and the reason each is there."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diptych._core.errors import BackendUnavailableError, ConfigError, DiptychError
from diptych.index import Hits
from diptych.index.words import matched_words
from diptych.search.documents import DocumentPages, Page
from diptych.search.entries import MetadataKeys, document_of
from diptych.search.hits import AUDIO, Answer, Hit, Why, public
from diptych.search.listing import Lister
from diptych.search.probability.calibration import Calibration
from diptych.search.query import Direction, Mode, Query, directions
from diptych.search.raw_embedder import RawEmbedder
from diptych.search.texts import Suggester


@dataclass(frozen=True)
class Answerer:
    """Asks an index.

    Attributes:
        lister: ranks entries by one kind of evidence.
        raw: reads texts and images.
        calibration: how scores become probabilities.
        modalities: what there is to search.
        suggester: what can be said of typed words.
        count_documents: how many documents the index holds, or meet a condition; None if unknown.
        keys: what can be conditioned on; None if any key is fine.
    """

    lister: Lister
    raw: RawEmbedder
    calibration: Calibration
    modalities: tuple[str, ...]
    suggester: Suggester
    count_documents: Callable[[str | None], int | None] = lambda where: None
    keys: MetadataKeys | None = None

    def answer_many(self, queries: Sequence[Query]) -> list[Answer | DiptychError]:
        """Answer queries of different people together: an answer or an error for each."""
        problem = (lambda where: None) if self.keys is None else self.keys.problem
        wrong = {place: error for place, query in enumerate(queries) if (error := problem(query.where))}
        answers = iter(self._answered([query for place, query in enumerate(queries) if place not in wrong]))
        return [wrong[place] if place in wrong else next(answers) for place in range(len(queries))]

    def _answered(self, queries: Sequence[Query]) -> list[Answer | DiptychError]:
        started = time.perf_counter()
        queries = [self._with_purpose(query) for query in queries]
        texts = self.lister.texts
        plan = None if texts is None else texts.plan
        found = directions(self.lister.index, self.raw, self.lister.spaces, plan, queries)
        results: list[Answer | DiptychError | None] = [one if isinstance(one, DiptychError) else None for one in found]
        alike: dict[tuple[Mode, object], list[int]] = {}
        for place, (query, direction) in enumerate(zip(queries, found, strict=True)):
            if isinstance(direction, Direction):
                options = query.into, query.k, query.offset, query.where, query.min_probability
                key = direction.purpose, bool(direction.words), direction.alone, options
                alike.setdefault((self._mode(query, direction), key), []).append(place)
        away: BackendUnavailableError | None = None
        for (mode, _), places in alike.items():
            asked = [one for place in places if isinstance(one := found[place], Direction)]
            try:
                if away is not None:  # nobody waits a second time for a database that does not answer
                    raise away
                pages = self._pages(queries[places[0]], asked, mode)
            except DiptychError as error:
                away = error if isinstance(error, BackendUnavailableError) else None
                for place in places:
                    results[place] = error
                continue
            for place, direction, page in zip(places, asked, pages, strict=True):
                results[place] = self._answer(direction, page, mode, started)
        answers = [result for result in results if result is not None]
        return self._corrected(queries, answers)

    def _corrected(
        self, queries: Sequence[Query], answers: Sequence[Answer | DiptychError]
    ) -> list[Answer | DiptychError]:
        """Put the answers of corrected queries in the place of those whose words, as typed, no text holds."""
        again: dict[int, Query] = {}
        for place, (query, answer) in enumerate(zip(queries, answers, strict=True)):
            if not isinstance(answer, Answer) or answer.did_you_mean is None or not query.correct:
                continue
            part, *others = query.parts
            if others or part.kind != "text":
                continue
            words = str(part.value)
            kept = set(words.split()) & set(answer.did_you_mean.split())
            if (answer.nothing_close or not kept) and self.suggester.is_misspelled(words, answer.did_you_mean):
                again[place] = replace(query, parts=(replace(part, value=answer.did_you_mean),), correct=False)
        better = list(answers)
        for place, found in zip(again, self._answered(list(again.values())) if again else [], strict=True):
            typed = answers[place]
            if isinstance(found, Answer) and isinstance(typed, Answer) and not found.nothing_close:
                seconds = typed.seconds + found.seconds
                better[place] = replace(found, seconds=seconds, did_you_mean=typed.did_you_mean, corrected=True)
        return better

    def _with_purpose(self, query: Query) -> Query:
        """Typed words that ask for items are answered in the partner space, unless they name another.

        Whoever types words describes what they want to see: more of the judged queries are answered well there.
        """
        words = bool(query.parts) and all(part.kind == "text" for part in query.parts)
        if query.purpose == "auto" and query.into is None and words and "partner" in self.lister.spaces.purposes:
            return replace(query, purpose="partner")
        return query

    def _mode(self, query: Query, direction: Direction) -> Mode:
        """The mode in which a query can be answered: words are looked for where there are words and texts."""
        texts = self.lister.texts
        if texts is None or not direction.words:
            return "vector"
        if query.into is not None and (query.into != texts.plan.modality or not direction.alone):
            return "vector"
        return query.mode

    def _pages(self, query: Query, asked: Sequence[Direction], mode: Mode) -> list[Page]:
        if query.into is not None and query.into not in self.modalities:
            raise ConfigError(f"there is no modality {query.into!r:.60}; search {' or '.join(self.modalities)}.")
        texts = self.suggester.modality
        if query.into is not None and mode == "vector":
            return SidePages(self.lister, self.calibration, texts).pages(query, asked)
        lister, sides = self.lister, self.modalities
        if query.into is not None:
            lister, sides = replace(lister, apart=True), (query.into,)
        made = DocumentPages(lister, self.calibration, sides, texts)
        return made.pages(query, asked, mode, self.count_documents if query.into is None else lambda where: None)

    def _answer(self, direction: Direction, page: Page, mode: Mode, started: float) -> Answer:
        ignored = self.suggester.ignored(direction.words)
        meant = self.suggester.did_you_mean(direction.words)
        return Answer(
            page.hits,
            page.closest,
            time.perf_counter() - started,
            direction.purpose,
            mode,
            ignored,
            meant,
            page.total,
            page.nothing_close,
        )


_NOTHING = Hits((), np.zeros(0, np.float32), (), ())


@dataclass(frozen=True)
class SidePages:
    """Ranks the entries of one modality for queries that have the same options.

    Attributes:
        lister: ranks entries by one kind of evidence.
        calibration: how cosines become probabilities.
        text_modality: which modality holds texts, if that is known.
    """

    lister: Lister
    calibration: Calibration
    text_modality: str | None

    def pages(self, query: Query, asked: Sequence[Direction]) -> list[Page]:
        """One page for each query; the entries that a query names are left out."""
        if query.min_probability > 0:
            self._check_probabilities(query, asked)
        named = max(len(one.named) for one in asked)
        first, count = (0, query.offset + query.k + named) if named else (query.offset, query.k)
        pages = []
        for direction, found in zip(asked, self._search(query, asked, count, first), strict=True):
            hits = [hit for hit in self._hits(found, direction) if hit.id not in direction.named]
            pages.append(self._page(query, hits[query.offset - first :][: query.k], direction))
        return pages

    def _page(self, query: Query, hits: Sequence[Hit], direction: Direction) -> Page:
        closest = max((hit.probability for hit in hits if hit.probability is not None), default=None)
        least = query.min_probability
        kept = hits if least <= 0 else [hit for hit in hits if (hit.probability or 0.0) >= least]
        return Page(tuple(kept), closest, direction.vector is None)

    def _search(self, query: Query, asked: Sequence[Direction], k: int, offset: int) -> list[Hits]:
        placed = [one.vector for one in asked if one.vector is not None]
        if not placed:
            return [_NOTHING] * len(asked)
        found = iter(
            self.lister.index.search(
                np.array(placed),
                k,
                where=query.where,
                modality=query.into,
                offset=offset,
                with_metadata=True,
                embedder=self.lister.embedder,
                exact=self.lister.spaces.narrows(asked[0].purpose),
            )
        )
        return [_NOTHING if one.vector is None else next(found) for one in asked]

    def _hits(self, found: Hits, direction: Direction) -> list[Hit]:
        scores = found.scores / self.lister.spaces.share(direction.purpose)
        known = self.calibration.of(direction.purpose)
        likely = known.probabilities(known.asker_of(direction), found.modalities, scores)
        columns = zip(found.ids, found.modalities, scores.tolist(), likely, found.metadata or (), strict=True)
        return [
            Hit(
                id,
                name,
                score,
                chance,
                public(about),
                document_of(id, about),
                {name: id},
                self._why(name, score, about, direction),
            )
            for id, name, score, chance, about in columns
        ]

    def _why(self, modality: str, score: float, about: dict[str, Any], direction: Direction) -> Why:
        if modality != self.text_modality:
            return Why(audio=score, side="audio") if modality == AUDIO else Why(image=score, side="image")
        words = matched_words(direction.words, str(about.get("text", ""))) if direction.words else ()
        return Why(words, text=score, side="text")

    def _check_probabilities(self, query: Query, asked: Sequence[Direction]) -> None:
        known = self.calibration.of(asked[0].purpose)
        for asker in {known.asker_of(direction) for direction in asked}:
            if asker is None:
                raise ConfigError("a query that only leads away from things has no probability; ask without a minimum.")
            if (asker, query.into) not in known.maps:
                raise ConfigError(
                    f"this index has no probabilities from {asker} to {query.into}, for it was built without "
                    "validation pairs of these; ask without a minimum."
                )
