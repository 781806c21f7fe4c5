"""The contract of features and extractors, and how several features become one."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Features, Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind, join_kinds

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
    """A fitted feature: it turns items into rows. It never changes and can be saved with a model.

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
    """A feature extractor before it is fitted: its settings."""

    def fit(
        self, items: Iterable[ItemT_contra], *, seed: int = 0, progress: Progress = silent
    ) -> Extractor[ItemT_contra]:
        """Learn what there is to learn (a vocabulary, visual words) from training items, streamed once."""
        ...


def width(blocks: Sequence[Block]) -> int:
    """Return the number of columns that blocks describe."""
    return blocks[-1].stop if blocks else 0


class FixedFeature(ABC, Generic[ItemT]):
    """A feature that learns nothing and is its own extractor: fitting reads nothing and returns it.

    A subclass is a frozen dataclass of its settings, marked `@stateful`, with `blocks` and `describe`.
    """

    learns: ClassVar[bool] = False
    kind: ClassVar[Kind] = "dense"

    @property
    @abstractmethod
    def blocks(self) -> tuple[Block, ...]:
        """What the columns are, in order and without gaps."""

    @abstractmethod
    def describe(self, item: ItemT, /) -> Singles:
        """Compute the row of one item."""

    def check(self, item: ItemT) -> ItemT:
        """Return the item if it is one that `describe` takes.

        Raises:
            DataError: if it is not.
        """
        return item

    def fit(self, items: Iterable[ItemT], *, seed: int = 0, progress: Progress = silent) -> Self:
        """Return the feature itself; no item is drawn from the stream."""
        return self

    def __call__(self, items: Sequence[ItemT]) -> Singles:
        """One row for each item."""
        rows = np.empty((len(items), width(self.blocks)), dtype=np.float32)
        for row, item in zip(rows, items, strict=True):
            row[:] = self.describe(self.check(item))
        return rows


def learns(feature: Feature[Any]) -> bool:
    """Return whether fitting a feature reads items; one that never does has an attribute `learns` that is False."""
    return bool(getattr(feature, "learns", True))


def restarts(items: Iterable[Any]) -> bool:
    """Return whether a stream can be read again from its start: a sequence, or one with an attribute `restarts`."""
    return isinstance(items, Sequence) or bool(getattr(items, "restarts", False))


def renumber(parts: Iterable[Sequence[Block]]) -> tuple[Block, ...]:
    """Join the blocks of several parts; each is shifted by the width of the parts before its own."""
    joined: list[Block] = []
    for blocks in parts:
        shift = width(joined)
        joined += [replace(block, start=block.start + shift, stop=block.stop + shift) for block in blocks]
    return tuple(joined)


def join_rows(parts: Sequence[Features], kind: Kind) -> Features:
    """Join rows of several parts column-wise: sparse where all are counts, else dense float32."""
    if kind == "counts":
        return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts], format="csr"))
    dense = (part if isinstance(part, np.ndarray) else part.toarray() for part in parts)
    return np.concatenate([np.asarray(part, dtype=np.float32) for part in dense], axis=1)


@dataclass(frozen=True)
class Composition(Generic[ItemT]):
    """Several features as one: their columns side by side, dense ones and counts alike.

    Attributes:
        parts: the features, in the order of their columns.
    """

    parts: tuple[Feature[ItemT], ...]

    @property
    def learns(self) -> bool:
        """Whether some part reads items."""
        return any(learns(part) for part in self.parts)

    def fit(self, items: Iterable[ItemT], *, seed: int = 0, progress: Progress = silent) -> "ComposedExtractor":
        """Fit every part on the same items.

        Each part that learns reads the stream from its start; items are kept in memory only where there are several
        such parts and the stream can be read but once.

        Raises:
            ConfigError: if there are no parts.
        """
        if not self.parts:
            raise ConfigError("a composition has no parts; give at least one feature.")
        learners = sum(learns(part) for part in self.parts)
        shared = items if learners <= 1 or restarts(items) else list(items)
        return ComposedExtractor(tuple(part.fit(shared, seed=seed, progress=progress) for part in self.parts))


@stateful
@dataclass(frozen=True)
class ComposedExtractor:
    """A fitted `Composition`.

    Attributes:
        parts: the fitted features, in the order of their columns.
    """

    parts: tuple[Extractor[Any], ...]

    @property
    def kind(self) -> Kind:
        """That of the parts if all are alike, else their blocks."""
        return join_kinds([(part.kind, width(part.blocks)) for part in self.parts])

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of all parts, renumbered."""
        return renumber(part.blocks for part in self.parts)

    def __call__(self, items: Sequence[Any]) -> Features:
        """One row for each item; each item is fetched once, however many parts read it."""
        held = list(items)
        return join_rows([part(held) for part in self.parts], self.kind)
