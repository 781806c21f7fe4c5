"""What every engine promises. Public methods check what they are given; an engine writes the underscored hooks.

- A change is acknowledged by returning: from then on it survives the death of the process, and every search sees it.
- A call changes all of its items or none.
- Scores are cosines of the vectors as stored; equal vectors get equal scores, and equal scores come by order of ids.
- A search returns k items whenever k items fit the filter.
- What is found by words obeys the same rules; words belong to an item and come and go with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError
from diptych.index.filters import And, Comparison, Condition, Key
from diptych.index.filters.parser import parse
from diptych.index.identity import EmbedderId, Identity
from diptych.index.items import (
    Batch,
    Hits,
    Item,
    ItemLimits,
    checked_batch,
    checked_ids,
    checked_page,
    is_plain,
    unit_queries,
)
from diptych.index.lexical import Lexical


class Index(Lexical, ABC):
    """Vectors with an id, a modality and metadata each.

    Attributes:
        limits: limits on added items.
    """

    limits: ItemLimits = ItemLimits()

    @property
    @abstractmethod
    def identity(self) -> Identity:
        """What made the vectors, how long they are, how they are compared."""

    def add(
        self,
        ids: Sequence[str],
        vectors: ArrayLike,
        *,
        modality: str | Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,
        words: Sequence[str | None] | None = None,
        embedder: EmbedderId | None = None,
    ) -> int:
        """Add new items, all or none; an id that is there already is an error.

        Args:
            ids: one text each, unique in the index.
            vectors: one row each, of any length but zero; kept as float32 of length 1.
            modality: what they are: one name for all, or one each.
            metadata: a JSON object each; the keys `id` and `modality` are taken.
            words: the text by whose words each item is found, None for one that is found by none; refused by an index
                that was created without words.
            embedder: what made the vectors; refused if it is not the embedder of this index.

        Returns:
            How many items were added.
        """
        return self._write(self._add, ids, vectors, modality, metadata, words, embedder)

    def update(
        self,
        ids: Sequence[str],
        vectors: ArrayLike,
        *,
        modality: str | Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None = None,
        words: Sequence[str | None] | None = None,
        embedder: EmbedderId | None = None,
    ) -> int:
        """Like `add`, but an item that is there already is replaced; returns how many items were written."""
        return self._write(self._update, ids, vectors, modality, metadata, words, embedder)

    def delete(self, ids: Iterable[str]) -> int:
        """Delete items; ids that are not there are passed over. Returns how many were deleted."""
        listed = checked_ids(ids)
        return self._delete(listed) if listed else 0

    def get(self, ids: Iterable[str]) -> list[Item | None]:
        """The items of these ids in the order asked for, None where there is none."""
        listed = [ids] if isinstance(ids, str) else list(ids)
        found = self._get([id for id in dict.fromkeys(listed) if is_plain(id)])
        return [found.get(id) for id in listed]

    def count(self, *, where: str | Condition | None = None, modality: str | None = None) -> int:
        """The number of items, or of those that match a filter."""
        return self._count(_condition(where, modality))

    def list_ids(
        self,
        *,
        where: str | Condition | None = None,
        modality: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> list[str]:
        """The first ids in their order that come after a given one: the pages of a list that may change meanwhile."""
        if limit < 1:
            raise ConfigError(f"limit is {limit}; ask for at least one id.")
        if not is_plain(after):
            raise ConfigError(f"after is {after!r}; give the last id of the page before.")
        later = [Comparison(Key(("id",)), ">", after)] if after else []
        given = _condition(where, modality)
        parts = (*later, given) if given else (*later,)
        return self._list_ids(And(parts) if parts else None, limit)

    def search(
        self,
        queries: ArrayLike,
        k: int = 10,
        *,
        where: str | Condition | None = None,
        modality: str | None = None,
        offset: int = 0,
        with_metadata: bool = False,
        embedder: EmbedderId | None = None,
        exact: bool = False,
    ) -> list[Hits]:
        """The items nearest to each query.

        Args:
            queries: one vector, or a matrix of one row a query.
            k: how many results each.
            where: only items that meet this condition.
            modality: only items of this modality.
            offset: leave out so many of the best results.
            with_metadata: return what is known of the items found.
            embedder: what made the queries; refused if it is not the embedder of this index.
            exact: compare with every vector, as is needed where queries have zeros in many columns: a graph of whole
                vectors does not lead to what is nearest in a few columns.

        Returns:
            One answer a query, with fewer than k results only if there are no more.
        """
        checked_page(k, offset)
        if embedder is not None:
            self.identity.require(embedder)
        rows = unit_queries(queries, self.identity.dimension)
        condition = parse(where) if isinstance(where, str) else where
        return self._search(rows, k, offset, condition, modality, with_metadata, exact)

    @abstractmethod
    def optimise(self) -> None:
        """Bring the neighbour structure up to date with all changes: after many of them, so that searches are quick."""

    @abstractmethod
    def snapshot(self, target: Path | str) -> Path:
        """Write a consistent copy that can be opened as an index of its own, while others read and write."""

    def backup(self, target: Path | str) -> Path:
        """Write everything into one file, as it is at one moment, while others read and write.

        `restore_index` makes an index of it. Engines that speak to a server leave this to the server's own tools.
        """
        raise ConfigError("this engine writes no backup file; use the tools of its server, such as pg_dump.")

    def verify(self) -> list[str]:
        """Read everything and return what is wrong with it, one sentence each; empty if all is well."""
        problems: list[str] = []
        last, count = "", 0
        while ids := self.list_ids(after=last, limit=1_000):
            last, count = ids[-1], count + len(ids)
            for id, item in zip(ids, self.get(ids), strict=True):
                if item is not None and abs(float(np.linalg.norm(item.vector)) - 1) > 1e-3:
                    problems.append(f"the vector of item {id!r} is not of length 1")
        if count != self.count():
            problems.append(f"{count} items are listed but {self.count()} are counted")
        return problems

    def check_available(self) -> None:
        """Raise an error that says why, if the index cannot be searched now; takes a few seconds at most."""

    @abstractmethod
    def close(self) -> None:
        """Give back files and connections; closing twice does no harm."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(
        self,
        hook: Callable[[Batch], int],
        ids: Sequence[str],
        vectors: ArrayLike,
        modality: str | Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None,
        words: Sequence[str | None] | None,
        embedder: EmbedderId | None,
    ) -> int:
        if embedder is not None:
            self.identity.require(embedder)
        if words is not None:
            self._need_words()
        batch = checked_batch(ids, vectors, modality, metadata, self.identity.dimension, words, self.limits)
        if self.limits.items is not None:
            self._require_room(batch)
        return hook(batch) if len(batch) else 0

    def _require_room(self, batch: Batch) -> None:
        new = len(batch) - len(self._get(list(batch.ids)))
        if new and self.count() + new > (self.limits.items or 0):
            raise DataError(f"this index takes {self.limits.items} items and has {self.count()}; delete some first.")

    @abstractmethod
    def _add(self, batch: Batch) -> int: ...

    @abstractmethod
    def _update(self, batch: Batch) -> int: ...

    @abstractmethod
    def _delete(self, ids: list[str]) -> int: ...

    @abstractmethod
    def _get(self, ids: list[str]) -> dict[str, Item]: ...

    @abstractmethod
    def _count(self, condition: Condition | None) -> int: ...

    @abstractmethod
    def _list_ids(self, condition: Condition | None, limit: int) -> list[str]: ...

    @abstractmethod
    def _search(
        self,
        queries: Singles,
        k: int,
        offset: int,
        condition: Condition | None,
        modality: str | None,
        with_metadata: bool,
        exact: bool,
    ) -> list[Hits]: ...


def already_there(id: str) -> DataError:
    """The error of `add` for an id that the index holds."""
    return DataError(f"id {id!r} is already in the index; use update to replace it.")


def _condition(where: str | Condition | None, modality: str | None) -> Condition | None:
    given = parse(where) if isinstance(where, str) else where
    if modality is None:
        return given
    if not is_plain(modality):
        raise ConfigError(f"modality is {modality!r}; write it in plain Unicode text.")
    alone = Comparison(Key(("modality",)), "=", modality)
    return And((alone, given)) if given else alone
