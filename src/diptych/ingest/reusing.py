"""Extract only what was not extracted before: a fitted feature whose parts look in the cache first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Features, Singles
from diptych.data.modality import Kind
from diptych.features import Block, Extractor, FittedModality
from diptych.features.composition import ComposedExtractor
from diptych.features.contract import width
from diptych.ingest.row_cache import RowCache, cache_of


@dataclass(frozen=True)
class Keyed:
    """An item with its key.

    Attributes:
        key: a hash of its content.
        value: the item, decoded; None where every row of it is known.
    """

    key: bytes
    value: Any

    @property
    def nbytes(self) -> int:
        """The size of the item in memory."""
        return int(getattr(self.value, "nbytes", 0))


@dataclass(frozen=True)
class _FromCache:
    """A fitted feature that reads keyed items and takes known rows from its cache."""

    inner: Extractor[Any]
    cache: RowCache

    @property
    def kind(self) -> Kind:
        return self.inner.kind

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.inner.blocks

    def __call__(self, items: Sequence[Keyed]) -> Features:
        missing = {item.key: item.value for item in items if not self.cache.has(item.key)}
        new: dict[bytes, Singles] = {}
        if missing:  # else the network, which takes seconds to load, need not be
            made = np.asarray(self.inner(list(missing.values())), dtype=np.float32)
            self.cache.put(list(missing), made)
            new = dict(zip(missing, made, strict=True))
        rows = [new[item.key] if item.key in new else self.cache.take(item.key) for item in items]
        self.cache.forget_held()
        return np.stack(rows) if rows else np.empty((0, width(self.blocks)), dtype=np.float32)


@dataclass(frozen=True)
class _Computed:
    """A fitted feature that reads keyed items and computes every row."""

    inner: Extractor[Any]

    @property
    def kind(self) -> Kind:
        return self.inner.kind

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.inner.blocks

    def __call__(self, items: Sequence[Keyed]) -> Features:
        return self.inner([item.value for item in items])


class Reuse:
    """One modality's fitted feature, its parts looked up one by one.

    Parts that describe images are all kept; of those that describe texts only encoders are, since counting words costs
    less than looking them up, and what a vocabulary learned changes with every new text.

    Attributes:
        extractor: reads `Keyed` items.
    """

    def __init__(self, part: FittedModality, folder: Path | None) -> None:
        self._caches: list[RowCache] = []
        self._computes = False
        self.extractor = self._wrapped(part.extractor, part.medium, folder)

    @property
    def keeps(self) -> bool:
        """Whether some part's rows are kept."""
        return bool(self._caches)

    def knows(self, key: bytes) -> bool:
        """Whether no part needs the item itself."""
        return not self._computes and all(cache.has(key) for cache in self._caches)

    def keyed(self, key: bytes, read: Callable[[], Any]) -> Keyed:
        """An item by its key, read only if its rows are not known."""
        return Keyed(key, None if self.knows(key) else read())

    def close(self) -> None:
        """Close the caches."""
        for cache in self._caches:
            cache.close()

    def _wrapped(self, extractor: Extractor[Any], medium: str, folder: Path | None) -> Extractor[Any]:
        if isinstance(extractor, ComposedExtractor):
            return replace(extractor, parts=tuple(self._wrapped(part, medium, folder) for part in extractor.parts))
        if extractor.kind != "dense" or (medium == "text" and not getattr(extractor, "encodes", False)):
            self._computes = True
            return _Computed(extractor)
        modules = ("diptych.media.decoding",) if medium == "image" else ()
        self._caches.append(cache_of(extractor, folder, *modules))
        return _FromCache(extractor, self._caches[-1])
