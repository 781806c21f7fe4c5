"""A run of vectors of one modality that is searched as one; once made, it never changes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import Booleans, Integers, Singles
from diptych.index.local.graph import Graph
from diptych.index.local.ids import HeldIds, Ids
from diptych.index.local.postings import Postings, places_among


class Choice:
    """Which positions of a segment may be found."""

    def __init__(self, mask: Booleans) -> None:
        self.mask = mask
        self.count = int(np.count_nonzero(mask))

    @cached_property
    def places(self) -> Integers:
        """The positions, ascending."""
        return np.flatnonzero(self.mask)

    @cached_property
    def bits(self) -> NDArray[np.uint8]:
        """One bit a position, as faiss reads it."""
        return np.packbits(self.mask, bitorder="little")


@dataclass(frozen=True, eq=False)
class Segment:
    """Vectors, the rows and ids they belong to, and what was removed from them since.

    Attributes:
        vectors: of length 1.
        rows: row numbers in SQLite, ascending.
        ids: one each.
        dead: which are removed or replaced; None while all live.
        graph: their neighbour structure; None if they are compared one by one.
        folded: whether they lie in derived files.
        postings: what is known so far of the words of its items.
    """

    vectors: Singles
    rows: Integers
    ids: Ids
    dead: Booleans | None = None
    graph: Graph | None = None
    folded: bool = False
    postings: Postings = field(default_factory=Postings)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def alive(self) -> Choice | None:
        """What is left; None if that is everything."""
        return None if self.dead is None else Choice(~self.dead)

    @property
    def living(self) -> int:
        """How many are left."""
        return len(self) if self.alive is None else self.alive.count

    def without(self, rows: Integers) -> "Segment":
        """The segment after some rows (ascending; others may be among them) were removed."""
        gone = self.positions_of(rows)
        if not len(gone):
            return self
        dead = np.zeros(len(self), np.bool_) if self.dead is None else self.dead.copy()
        dead[gone] = True
        return replace(self, dead=dead, postings=self.postings.copied())

    def positions_of(self, rows: Integers) -> Integers:
        """Where those of the rows are that are here."""
        return places_among(rows, self.rows)

    def chosen(self, rows: Integers) -> Choice:
        """A choice of the living items in these rows."""
        mask = np.zeros(len(self), np.bool_)
        mask[self.positions_of(rows)] = True
        if self.dead is not None:
            mask &= ~self.dead
        return Choice(mask)

    def living_parts(self) -> tuple[Singles, Integers, list[str]]:
        """Vectors, rows and ids of what is left."""
        places = np.arange(len(self)) if self.alive is None else self.alive.places
        vectors = self.vectors if self.alive is None else self.vectors[places]
        return vectors, self.rows[places], self.ids.take(places)


def joined(segments: Sequence[Segment]) -> Segment:
    """What is left of several segments, as one in memory."""
    parts = [segment.living_parts() for segment in segments]
    ids = [id for part in parts for id in part[2]]
    return Segment(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), HeldIds(ids))


def appended(segments: Sequence[Segment], new: Segment) -> tuple[Segment, ...]:
    """Segments and one more; small ones in memory are joined, so that they stay few and each vector moves rarely."""
    result: list[Any] = [*segments, new]
    while len(result) > 1 and not result[-2].folded and len(result[-2]) < 2 * len(result[-1]):
        result[-2:] = [joined(result[-2:])]
    return tuple(result)
