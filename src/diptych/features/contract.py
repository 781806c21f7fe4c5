"""What every feature has in common: learned from training items alone, it then turns any item into a row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from diptych._core.arrays import Features
from diptych._core.progress import Progress, silent
from diptych.data.modality import Kind

ItemT = TypeVar("ItemT")
ItemT_contra = TypeVar("ItemT_contra", contravariant=True)


@dataclass(frozen=True)
class Block:
    """A run of columns and what they mean.

    Attributes:
        name: a short name, such as "colour histogram".
        start: the first column.
        stop: one past the last.
        meaning: what one column is, in a sentence.
    """

    name: str
    start: int
    stop: int
    meaning: str


class Extractor(Protocol[ItemT_contra]):
    """A feature that is ready: it holds all it learned, packs into a model's state, and never changes.

    Rows do not depend on which other items are extracted beside them, so that work can be cut into any pieces.
    """

    @property
    def kind(self) -> Kind:
        """Dense rows or counts."""
        ...

    @property
    def blocks(self) -> tuple[Block, ...]:
        """What the columns are, in order and without gaps."""
        ...

    def __call__(self, items: Sequence[ItemT_contra]) -> Features:
        """One row for each item: float32, or a sparse matrix of counts."""
        ...


class Feature(Protocol[ItemT_contra]):
    """A feature by its settings, before it has seen anything."""

    def fit(
        self, items: Iterable[ItemT_contra], *, seed: int = 0, progress: Progress = silent
    ) -> Extractor[ItemT_contra]:
        """Learn what there is to learn (a vocabulary, visual words) from training items, streamed once."""
        ...


def width(blocks: Sequence[Block]) -> int:
    """The number of columns that blocks describe."""
    return blocks[-1].stop if blocks else 0
