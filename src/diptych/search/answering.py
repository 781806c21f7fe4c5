"""Answers: pages of hits with their probabilities and the reason each is there."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from diptych._core.errors import ConfigError, DiptychError
from diptych.search.calibration import Calibration
from diptych.search.document_pages import DocumentPages, Page
from diptych.search.embedding import Direction, directions
from diptych.search.listing import Lister
from diptych.search.queries import Answer, Mode, Query
from diptych.search.raw_parts import RawParts
from diptych.search.side_pages import SidePages
from diptych.search.wording import Wording


@dataclass(frozen=True)
class Answerer:
    """Asks an index.

    Attributes:
        lister: ranks entries by one kind of evidence.
        raw: reads texts and images.
        calibration: how scores become probabilities.
        modalities: what there is to search.
        wording: what can be said of typed words.
        count_documents: how many documents the index holds; None if unknown.
    """

    lister: Lister
    raw: RawParts
    calibration: Calibration
    modalities: tuple[str, ...]
    wording: Wording
    count_documents: Callable[[], int | None] = lambda: None

    def answer_many(self, queries: Sequence[Query]) -> list[Answer | DiptychError]:
        """Answer queries of different people together: an answer or an error for each."""
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
        for (mode, _), places in alike.items():
            asked = [one for place in places if isinstance(one := found[place], Direction)]
            try:
                pages = self._pages(queries[places[0]], asked, mode)
            except DiptychError as error:
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
            if (answer.nothing_close or not kept) and self.wording.is_misspelled(words, answer.did_you_mean):
                again[place] = replace(query, parts=(replace(part, value=answer.did_you_mean),), correct=False)
        better = list(answers)
        for place, found in zip(again, self.answer_many(list(again.values())) if again else [], strict=True):
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
        texts = self.wording.modality
        if query.into is not None and mode == "vector":
            return SidePages(self.lister, self.calibration, texts).pages(query, asked)
        lister, sides = self.lister, self.modalities
        if query.into is not None:
            lister, sides = replace(lister, apart=True), (query.into,)
        made = DocumentPages(lister, self.calibration, sides, texts)
        return made.pages(query, asked, mode, self.count_documents if query.into is None else lambda: None)

    def _answer(self, direction: Direction, page: Page, mode: Mode, started: float) -> Answer:
        ignored = self.wording.ignored(direction.words)
        meant = self.wording.did_you_mean(direction.words)
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
