"""Pages of the entries of one modality, each a hit of its own, by the cosine in the shared space."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diptych._core.errors import ConfigError
from diptych.index import Found
from diptych.index.words import matched_words
from diptych.search.calibration import Calibration
from diptych.search.document_pages import Page
from diptych.search.embedding import Direction
from diptych.search.entries import document_of
from diptych.search.hits import public
from diptych.search.listing import Lister
from diptych.search.queries import Hit, Query, Why

_NOTHING = Found((), np.zeros(0, np.float32), (), ())


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

    def _search(self, query: Query, asked: Sequence[Direction], k: int, offset: int) -> list[Found]:
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
                maker=self.lister.maker,
                exact=self.lister.spaces.narrows(asked[0].purpose),
            )
        )
        return [_NOTHING if one.vector is None else next(found) for one in asked]

    def _hits(self, found: Found, direction: Direction) -> list[Hit]:
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
            return Why(image=score, side="image")
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
