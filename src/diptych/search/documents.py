"""Pages of documents: one hit is an item with all its sides, found through any of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Booleans, Floats
from diptych._core.errors import ConfigError
from diptych.search.hits import Hit, HitMaker
from diptych.search.listing import IMAGE, TEXT, WORDS, Listed, Lister
from diptych.search.probability import CosineLine, ProbabilityMap, sigmoid
from diptych.search.probability.calibration import Calibration
from diptych.search.query import Direction, Mode, Query
from diptych.search.ranking import POOL, Fusion, Line, Ranked, fused, merged

_THE_VERY_SAME = 0.9999
DocumentCounter = Callable[[str | None], int | None]
"""How many documents there are, or meet a condition; None if that is not known."""
USED: dict[Mode, Booleans] = {
    "hybrid": np.array([True, True, True]),
    "vector": np.array([True, True, False]),
    "lexical": np.array([False, False, True]),
}


@dataclass(frozen=True)
class Page:
    """One page of hits.

    Attributes:
        hits: best first.
        closest: the best probability among them before weak ones were cut; None if unknown.
        nothing_close: whether even the best document of the query is not credible.
        total: how many documents can be paged through; None if unknown.
    """

    hits: tuple[Hit, ...]
    closest: float | None
    nothing_close: bool = False
    total: int | None = None


@dataclass
class Ranking:
    """Documents, best first, as far as they were asked for.

    Attributes:
        documents: the ranking.
        complete: whether there are no others.
        presence: how credible it is that anything answers the query; every probability is multiplied by it.
    """

    documents: list[Ranked]
    complete: bool
    presence: float = 1.0


@dataclass(frozen=True)
class DocumentPages:
    """Ranks documents for queries that have the same options.

    Attributes:
        lister: ranks entries by one kind of evidence.
        calibration: how scores become probabilities.
        modalities: what there is to search.
        text_modality: which of them are texts, if that is known.
    """

    lister: Lister
    calibration: Calibration
    modalities: tuple[str, ...]
    text_modality: str | None

    def pages(self, query: Query, asked: Sequence[Direction], mode: Mode, count: DocumentCounter) -> list[Page]:
        """One page for each query.

        Pages laid end to end have no gaps and no repeats, as long as the index does not change meanwhile.
        """
        for direction in asked if query.min_probability > 0 else ():
            self._check_probabilities(direction, mode)
        wanted = query.offset + query.k
        if mode == "lexical":
            rankings = [self._by_words(query.where, one, wanted) for one in asked]
        elif asked[0].words and self.lister.texts is not None:
            rankings = self._fused(query.where, asked, mode, wanted)
        else:
            rankings = self._by_best_side(query.where, asked, wanted)
        return [self._page(query, one, mode, ranking, count) for one, ranking in zip(asked, rankings, strict=True)]

    def _page(
        self,
        query: Query,
        direction: Direction,
        mode: Mode,
        ranking: Ranking,
        count: DocumentCounter,
    ) -> Page:
        some = ranking.documents[query.offset : query.offset + query.k]
        curve = self._curve(direction, mode)
        likely: list[float | None] = [None] * len(some)
        if curve is not None:
            likely = (ranking.presence * curve([one.score for one in some])).tolist()
        hits = HitMaker(self.lister, self.modalities, self.text_modality).hits(some, direction, likely)
        closest = max((hit.probability for hit in hits if hit.probability is not None), default=None)
        if query.min_probability > 0:
            hits = [hit for hit in hits if (hit.probability or 0.0) >= query.min_probability]
        total = len(ranking.documents) if ranking.complete else None
        if total is None and mode != "lexical" and not (query.where and direction.documents):
            known = count(query.where)
            total = None if known is None else known - len(direction.documents)
        return Page(tuple(hits), closest, ranking.presence < 0.5 or not ranking.documents, total)

    def _fused(self, where: str | None, asked: Sequence[Direction], mode: Mode, wanted: int) -> list[Ranking]:
        """Typed words, with or without other parts: the pool by the fused score, and what comes after it."""
        known = self.calibration.of(asked[0].purpose).documents
        columns = self.columns(where, asked, mode, POOL)
        rankings = []
        for direction, lists in zip(asked, zip(*columns, strict=True), strict=True):
            pool, floors = fused(
                lists, known.fusion, USED[mode], direction.documents, names=holds_name(direction.words)
            )
            ranking = Ranking(pool, all(listed.complete for _, listed in lists))
            if known.presence is not None and direction.alone:
                ranking.presence = known.presence(lists)
            if len(pool) < wanted and not ranking.complete:
                self._go_on(where, direction, mode, wanted, ranking, floors, known.fusion)
            rankings.append(ranking)
        return rankings

    def _go_on(
        self,
        where: str | None,
        direction: Direction,
        mode: Mode,
        wanted: int,
        ranking: Ranking,
        floors: Floats,
        fusion: Fusion,
    ) -> None:
        """Add what comes after the pool, by the best of its lists; none of it is better than the last of the pool."""
        pool = {one.document for one in ranking.documents} | direction.documents
        missing = wanted - len(ranking.documents)
        depth = 2 * (len(pool) + missing)
        lowest = ranking.documents[-1].score if ranking.documents else 1.0
        while True:
            lists = [lists[0] for lists in self.columns(where, [direction], "vector", depth)]
            lines = [(kind, listed, _alone(fusion, kind, floors)) for kind, listed in lists]
            more = merged(lines, missing, pool)
            if more is not None:
                break
            depth *= 2
        for one in more:
            one.score = min(one.score, lowest)
        ranking.documents += more
        ranking.complete = len(more) < missing

    def columns(
        self, where: str | None, asked: Sequence[Direction], mode: Mode, depth: int
    ) -> list[list[tuple[int, Listed]]]:
        """The lists of each kind of evidence, each with one list a query."""
        lister, columns = self.lister, []
        sides = [name for name in self.modalities if name != self.text_modality or not asked[0].alone]
        for name in sides:
            found = lister.by_vector(asked, depth, name, where)
            columns.append(
                [(IMAGE, self._as_typed(one, name, listed)) for one, listed in zip(asked, found, strict=True)]
            )
        columns.append([(TEXT, listed) for listed in lister.by_text(asked, depth, where)])
        if mode == "hybrid":
            columns.append([(WORDS, listed) for listed in lister.by_words(asked, depth, where)])
        return columns

    def _as_typed(self, direction: Direction, gallery: str, listed: Listed) -> Listed:
        """Cosines with a modality as the cosines of typed words with the first one that say as much.

        Words alone are compared with the first as they are; cosines with a further modality, such as sounds beside
        images, lie elsewhere.
        """
        images = [name for name in self.modalities if name != self.text_modality]
        if self.text_modality is None or (direction.alone and gallery == images[0]):
            return listed
        known = self.calibration.of(direction.purpose)
        mine = known.documents.line(known.asker_of(direction), gallery)
        words = known.documents.line(known.asker(self.text_modality, by_item=False), (images or [gallery])[0])
        return listed if mine is None or words is None else listed.rescored(words.inverse(mine(listed.scores)))

    def _by_words(self, where: str | None, direction: Direction, wanted: int) -> Ranking:
        """Documents whose texts hold typed words."""

        def lists(depth: int) -> list[tuple[int, Listed, Line]]:
            return [(WORDS, self.lister.by_words([direction], depth, where)[0], _unchanged)]

        return _deep_enough(lists, wanted, direction)

    def _by_best_side(self, where: str | None, asked: Sequence[Direction], wanted: int) -> list[Ranking]:
        """Images and items as queries: a document is as good as the best of its sides."""
        kinds = [TEXT if name == self.text_modality else IMAGE for name in self.modalities]

        def listed(directions: Sequence[Direction], depth: int) -> list[tuple[Listed, ...]]:
            """All queries at once: the index is asked once for each modality."""
            columns = [self.lister.by_vector(directions, depth, name, where) for name in self.modalities]
            return list(zip(*columns, strict=True))

        depth = max(_first_depth(wanted, direction) for direction in asked)

        def ranking(direction: Direction, first: tuple[Listed, ...]) -> Ranking:
            lines = self._lines(direction)

            def lists(deep: int) -> list[tuple[int, Listed, Line]]:
                found = first if deep <= depth else listed([direction], deep)[0]
                return list(zip(kinds, found, lines, strict=True))

            return _deep_enough(lists, wanted, direction)

        return [ranking(direction, first) for direction, first in zip(asked, listed(asked, depth), strict=True)]

    def _lines(self, direction: Direction) -> list[Line]:
        """For each modality, what makes cosines with it comparable with those of the others."""
        known = self.calibration.of(direction.purpose)
        asker = known.asker_of(direction)
        lines = [known.documents.line(asker, name) for name in self.modalities]
        fallback = next((line for line in lines if line is not None), None)
        return [
            _unchanged if line is None else _sigmoid_of(line, same=name == direction.modality)
            for name, line in zip(self.modalities, (line or fallback for line in lines), strict=True)
        ]

    def _curve(self, direction: Direction, mode: Mode) -> ProbabilityMap | None:
        """How the scores of this query become probabilities; None where nothing is known of that."""
        known = self.calibration.of(direction.purpose)
        if direction.words and self.lister.texts is not None:
            return known.documents.typed.get(mode)
        asker = known.asker_of(direction)
        return None if asker is None else known.documents.asked.get(asker)

    def _check_probabilities(self, direction: Direction, mode: Mode) -> None:
        if direction.modality is None:
            raise ConfigError("a query that only leads away from things has no probability; ask without a minimum.")
        if self._curve(direction, mode) is None:
            raise ConfigError(
                f"this index has no probabilities for a query by {direction.modality}, for it was built without "
                "validation pairs of it; ask without a minimum."
            )


def holds_name(words: str) -> bool:
    """Whether a query holds a number or a part number."""
    return any(sign.isdigit() for sign in words)


def _deep_enough(lists: Callable[[int], list[tuple[int, Listed, Line]]], wanted: int, direction: Direction) -> Ranking:
    """The best documents, looking as deep into the lists as it takes."""
    depth = _first_depth(wanted, direction)
    while True:
        found = merged(lists(depth), wanted, direction.documents)
        if found is not None:
            return Ranking(found, len(found) < wanted)
        depth *= 2


def _first_depth(wanted: int, direction: Direction) -> int:
    return wanted + len(direction.documents) + 1


def _unchanged(scores: Floats) -> Floats:
    return scores


def _sigmoid_of(line: CosineLine, *, same: bool) -> Line:
    """The odds of belonging as a score; what is the very same as the query has 1, above all that merely belongs."""
    return lambda scores: np.where(same & (scores >= _THE_VERY_SAME), 1.0, sigmoid(line(scores)))


def _alone(fusion: Fusion, kind: int, floors: Floats) -> Line:
    """The fused score of documents that have one kind of evidence and otherwise what stands in for it."""
    rest = fusion.bias + sum(
        weight * floor
        for other, (weight, floor) in enumerate(zip(fusion.weights, floors.tolist(), strict=True))
        if other not in (kind, WORDS)
    )
    return lambda scores: sigmoid(rest + fusion.weights[kind] * scores)
