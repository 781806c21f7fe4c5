"""Answers: pages of results with their probabilities."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diptych.errors import ConfigError, DiptychError
from diptych.index import Found, Index, Maker
from diptych.search.calibration import Calibration
from diptych.search.embedding import Direction, directions
from diptych.search.queries import Answer, Hit, Query
from diptych.search.raw_parts import RawParts
from diptych.search.spaces import IndexSpaces

_NO_MEDIA = object()


@dataclass(frozen=True)
class Page:
    """One page, and the best probability on it before weak ones were cut."""

    hits: tuple[Hit, ...]
    closest: float | None


@dataclass(frozen=True)
class Answerer:
    """Asks an index.

    Attributes:
        index: the index.
        raw: reads words and pictures.
        calibration: how cosines become probabilities.
        modalities: what there is to search.
        maker: who makes the queries.
        spaces: of the index's vectors.
    """

    index: Index
    raw: RawParts
    calibration: Calibration
    modalities: tuple[str, ...]
    maker: Maker
    spaces: IndexSpaces

    def answer_many(self, queries: Sequence[Query]) -> list[Answer | DiptychError]:
        """Answer queries of different people together: an answer or an error for each."""
        started = time.perf_counter()
        found = directions(self.index, self.raw, self.spaces, queries)
        results: list[Answer | DiptychError | None] = [one if isinstance(one, DiptychError) else None for one in found]
        alike: dict[object, list[int]] = {}
        for place, (query, direction) in enumerate(zip(queries, found, strict=True)):
            if isinstance(direction, Direction):
                key = query.into, query.k, query.offset, query.where, query.min_probability, direction.purpose
                alike.setdefault(key, []).append(place)
        for places in alike.values():
            asked = [one for place in places if isinstance(one := found[place], Direction)]
            try:
                pages = self._pages(queries[places[0]], asked)
            except DiptychError as error:
                for place in places:
                    results[place] = error
                continue
            for place, direction, page in zip(places, asked, pages, strict=True):
                results[place] = Answer(page.hits, page.closest, time.perf_counter() - started, direction.purpose)
        return [result for result in results if result is not None]

    def _pages(self, query: Query, directions: Sequence[Direction]) -> list[Page]:
        """One page for each of several directions that the same is asked of.

        Pages laid end to end have no gaps and no repeats, as long as the index does not change meanwhile: items that a
        query names are left out, and so are weak ones, before anything is counted off.
        """
        self._check(query, directions)
        if query.min_probability > 0 and query.into is None:
            return self._merged(query, directions)
        named = max(len(direction.named) for direction in directions)
        first, count = (0, query.offset + query.k + named) if named else (query.offset, query.k)
        pages = []
        for direction, found in zip(directions, self._search(query, directions, query.into, count, first), strict=True):
            hits = [hit for hit in self._hits(found, direction) if hit.id not in direction.named]
            pages.append(_cut(hits[query.offset - first :][: query.k], query.min_probability))
        return pages

    def _merged(self, query: Query, directions: Sequence[Direction]) -> list[Page]:
        """Over all modalities, each with a map of its own, what is likely enough is not simply what is on top."""
        named = max(len(direction.named) for direction in directions)
        deep = query.offset + query.k + named
        columns = [self._search(query, directions, modality, deep, 0) for modality in self.modalities]
        pages = []
        for direction, found in zip(directions, zip(*columns, strict=True), strict=True):
            hits = [hit for one in found for hit in self._hits(one, direction) if hit.id not in direction.named]
            hits.sort(key=lambda hit: (-hit.score, hit.id))
            strong = [hit for hit in hits if (hit.probability or 0.0) >= query.min_probability]
            page = strong[query.offset : query.offset + query.k]
            pages.append(Page(tuple(page), _closest(hits[query.offset :])))
        return pages

    def _search(
        self, query: Query, directions: Sequence[Direction], into: str | None, k: int, offset: int
    ) -> list[Found]:
        vectors = np.array([direction.vector for direction in directions])
        return self.index.search(
            vectors,
            k,
            where=query.where,
            modality=into,
            offset=offset,
            with_metadata=True,
            maker=self.maker,
            exact=self.spaces.narrows(directions[0].purpose),
        )

    def _hits(self, found: Found, direction: Direction) -> list[Hit]:
        scores = found.scores / self.spaces.share(direction.purpose)
        known = self.calibration.of(direction.purpose)
        likely = known.probabilities(self._asker(direction), found.modalities, scores)
        columns = zip(found.ids, found.modalities, scores.tolist(), likely, found.metadata or (), strict=True)
        return [Hit(id, name, score, chance, public(about)) for id, name, score, chance, about in columns]

    def _asker(self, direction: Direction) -> str | None:
        if direction.modality is None:
            return None
        return self.calibration.of(direction.purpose).asker(direction.modality, by_item=direction.by_item)

    def _check(self, query: Query, directions: Sequence[Direction]) -> None:
        if query.into is not None and query.into not in self.modalities:
            raise ConfigError(f"there is no modality {query.into!r:.60}; search {' or '.join(self.modalities)}.")
        if query.min_probability <= 0:
            return
        maps = self.calibration.of(directions[0].purpose).maps
        for asked in {self._asker(direction) for direction in directions}:
            if asked is None:
                raise ConfigError("a query that only leads away from things has no probability; ask without a minimum.")
            for gallery in self.modalities if query.into is None else (query.into,):
                if (asked, gallery) not in maps:
                    raise ConfigError(
                        f"this index has no probabilities from {asked} to {gallery}, for it was built without "
                        "validation pairs of these; ask without a minimum."
                    )


def public(metadata: dict[str, Any]) -> dict[str, Any]:
    """What may be shown of an item's metadata: not by which name its picture is stored."""
    shown = metadata.copy()
    shown["has_media"] = shown.pop("media", _NO_MEDIA) is not _NO_MEDIA
    return shown


def _cut(hits: Sequence[Hit], least: float) -> Page:
    kept = hits if least <= 0 else [hit for hit in hits if (hit.probability or 0.0) >= least]
    return Page(tuple(kept), _closest(hits))


def _closest(hits: Sequence[Hit]) -> float | None:
    return max((hit.probability for hit in hits if hit.probability is not None), default=None)
