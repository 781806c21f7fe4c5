"""Exact cosines and the order of what a server proposes, and how much more to ask for.

A server's graph proposes candidates by rounded scores and in any order where scores are equal. Asking for some more
than wanted, until the last one is clearly worse than the last one wanted, makes the order ours.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from diptych._core.arrays import Singles
from diptych.index.items import Found, Metadata

SPARE = 16
"""Candidates asked for beyond those wanted."""
_GROWTH = 4
_CLEARLY_WORSE = 1e-5
"""More than what single precision gets wrong about the cosine of two unit vectors."""


@dataclass(frozen=True)
class Candidates:
    """Items that a server proposes for one query.

    Attributes:
        ids: which.
        modalities: what each one is.
        vectors: the stored vectors, one a row.
        metadata: what is known of each one; empty if it was not asked for.
        all_there_are: whether no other item fits.
    """

    ids: list[str]
    modalities: list[str]
    vectors: Singles
    metadata: list[Metadata] = field(default_factory=list)
    all_there_are: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, order: list[int]) -> "Candidates":
        """Some of them, in this order."""
        return Candidates(
            [self.ids[place] for place in order],
            [self.modalities[place] for place in order],
            self.vectors[order],
            [self.metadata[place] for place in order] if self.metadata else [],
            self.all_there_are,
        )


Fetch = Callable[[int, bool], Candidates]
"""Ask for so many candidates; the second argument demands exact search, which must know when there are no more."""


def settled(query: Singles, wanted: int, fetch: Fetch, first: Candidates | None = None) -> tuple[Candidates, Singles]:
    """The best candidates in their order with their scores: at least as many as wanted if so many exist."""
    limit, exact = wanted + SPARE, False
    proposed = first if first is not None else fetch(limit, exact)
    while True:
        if len(proposed) >= limit or proposed.all_there_are:
            ordered, scores = in_order(proposed, query)
            if proposed.all_there_are or scores[wanted - 1] - scores[-1] > _CLEARLY_WORSE:
                return ordered, scores
            limit *= _GROWTH
        elif exact:
            return in_order(proposed, query)
        else:
            exact = True  # a graph may give fewer than there are
        proposed = fetch(limit, exact)


def in_order(candidates: Candidates, query: Singles) -> tuple[Candidates, Singles]:
    """Candidates by exact cosine, equal ones by id.

    Every product is summed by itself in double precision: equal vectors get equal scores.
    """
    scores = np.asarray(np.vecdot(candidates.vectors.astype(np.float64), query.astype(np.float64)), np.float32)
    ranks = scores.tolist()
    order = sorted(range(len(candidates)), key=lambda place: (-ranks[place], candidates.ids[place]))
    return candidates.take(order), scores[order]


def page(candidates: Candidates, scores: Singles, k: int, offset: int, with_metadata: bool) -> Found:
    """The part of the order that was asked for."""
    part = slice(offset, offset + k)
    return Found(
        tuple(candidates.ids[part]),
        scores[part],
        tuple(candidates.modalities[part]),
        tuple(candidates.metadata[part]) if with_metadata else None,
    )
