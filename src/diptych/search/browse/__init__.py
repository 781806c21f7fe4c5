"""Looking at an index without a query: its documents in memory, sorted and counted; its layout is in the modules."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diptych._core.arrays import Integers
from diptych._core.errors import ConfigError
from diptych.index import Index, Item
from diptych.search.entries import document_of
from diptych.search.hits import Answer, Hit
from diptych.search.media_store import Change
from diptych.search.query import Query, Sort

DATE_KEYS = ("date", "taken", "created", "published", "added", "year")
"""Where the date of an item is looked for in its metadata, the first that is there."""
FACETS = ("label", "split")
SORTED = 1_000
"""Of the results of a query, so many of the best are sorted by something else than the score, and counted."""
_PAGE, _MOST_CONDITIONS = 2_000, 32
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is kept of an entry."""

    document: str
    is_text: bool
    name: str
    date: str
    label: tuple[str, ...]
    split: tuple[str, ...]


@dataclass(frozen=True)
class _View:
    """The documents as columns, in the order of their names.

    Attributes:
        ids: the entry that stands for each: its image, if it has one.
        place: where each document is.
        by_date: their places, newest first, those without a date last.
        facets: for each key its values, and pairs of places and codes of the values there.
    """

    ids: Sequence[str]
    place: Mapping[str, int]
    by_date: Integers
    facets: Mapping[str, tuple[Sequence[str], Integers, Integers]]


class Catalogue:
    """What is known of every document of an index; threads may share it.

    It is read once and then follows the changes of the index, whoever makes them.

    Args:
        index: the entries.
        text_modality: which of them are texts: an entry of another modality stands for a document before them.
        changes: the entries that were written or removed after a number, in order.
    """

    def __init__(
        self, index: Index, text_modality: str | None, changes: Callable[[int], Sequence[Change]] = lambda after: ()
    ) -> None:
        self._index, self._text, self._changes = index, text_modality, changes
        self._entries: dict[str, _Entry] = {}
        self._last = -1
        self._made: _View | None = None
        self._meeting: dict[str, Integers] = {}
        self._lock = threading.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether everything has been read, so that an answer takes no more than following changes."""
        return self._last >= 0

    @property
    def last_change(self) -> int:
        """The number of the last change that has been followed."""
        return self._last

    def page(self, where: str | None, sort: Sort, offset: int, k: int) -> tuple[list[str], int]:
        """The entries that stand for some documents in an order, and how many documents there are in it."""
        view = self.view()
        order = view.by_date if sort == "date" else np.arange(len(view.ids))
        if where is not None:
            mask = np.zeros(len(view.ids), np.bool_)
            mask[self._places(view, where)] = True
            order = order[mask[order]]
        return [view.ids[at] for at in order[offset : offset + k].tolist()], len(order)

    def count(self, where: str | None = None) -> int:
        """How many documents there are, or how many have an entry that meets a condition."""
        view = self.view()
        return len(view.ids) if where is None else len(self._places(view, where))

    def facets(self, keys: Sequence[str], where: str | None = None) -> dict[str, dict[str, int]]:
        """How many documents have each value of some keys, the most frequent first."""
        view = self.view()
        chosen = None if where is None else self._places(view, where)
        return {key: self._counted(view, key, chosen) for key in checked_keys(keys)}

    def documents(self) -> Mapping[str, int]:
        """Which entry stands for which document, by its place."""
        return {id: at for at, id in enumerate(self.view().ids)}

    def labels(self) -> list[str | None]:
        """The first label of each document, in the order of `documents`."""
        view = self.view()
        names, places, codes = view.facets["label"]
        found: list[str | None] = [None] * len(view.ids)
        for at, code in zip(reversed(places.tolist()), reversed(codes.tolist()), strict=True):
            found[at] = names[code]
        return found

    def entries_of(self, ids: Sequence[str]) -> list[str]:
        """These entries, and after them the others of their documents; those that are not there are left out."""
        self.view()
        with self._lock:
            found = [id for id in ids if id in self._entries]
            documents = {self._entries[id].document for id in found}
            others = sorted(id for id, entry in self._entries.items() if entry.document in documents)
        return list(dict.fromkeys(found + others))

    def view(self) -> _View:
        """The columns as they are now."""
        with self._lock:
            if self._last < 0:
                changes = self._changes(0)
                self._read_all(self._index.list_ids(limit=max(1, self._index.count())))
            else:
                changes = self._changes(self._last)
                self._read([change.id for change in changes])
            self._last = max(0, self._last, *(change.number for change in changes))
            if self._made is None:
                self._made, self._meeting = _as_view(self._entries), {}
            return self._made

    def _read_all(self, ids: Sequence[str]) -> None:
        """Read every document: once where its text and another side are called alike, as `text:7` and `image:7` are."""
        mark = f"{self._text}:"
        others = {id.partition(":")[2]: id for id in ids if not id.startswith(mark)}
        texts = [id for id in ids if id.startswith(mark)]
        twins = {id: others[name] for id in texts if (name := id.removeprefix(mark)) in others}
        self._read([id for id in ids if id not in twins])
        for id, other in twins.items():
            if other in self._entries:
                self._entries[id] = replace(self._entries[other], is_text=True)

    def _read(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _PAGE):
            some = ids[start : start + _PAGE]
            for id, item in zip(some, self._index.get(some), strict=True):
                if item is None:
                    self._entries.pop(id, None)
                else:
                    self._entries[id] = self._kept(item)
            self._made = None

    def _kept(self, item: Item) -> _Entry:
        known = item.metadata
        return _Entry(
            document_of(item.id, known),
            item.modality == self._text,
            name_of(known) or document_of(item.id, known),
            date_of(known),
            _values(known.get("label")),
            _values(known.get("split")),
        )

    def _places(self, view: _View, where: str) -> Integers:
        with self._lock:
            known = self._meeting.get(where) if view is self._made else None
        if known is not None:
            return known
        found = self._index.list_ids(where=where, limit=max(1, self._index.count()))
        with self._lock:
            documents = {entry.document for id in found if (entry := self._entries.get(id)) is not None}
        found_places = np.array(sorted(view.place[one] for one in documents if one in view.place), np.int64)
        with self._lock:
            if view is self._made:
                if len(self._meeting) >= _MOST_CONDITIONS:
                    self._meeting.clear()
                self._meeting[where] = found_places
        return found_places

    @staticmethod
    def _counted(view: _View, key: str, chosen: Integers | None) -> dict[str, int]:
        names, places, codes = view.facets[key]
        if chosen is not None:
            codes = codes[np.isin(places, chosen)]
        counts = np.bincount(codes, minlength=len(names)).tolist() if len(names) else []
        return ranked_counts({name: count for name, count in zip(names, counts, strict=True) if count})


def _as_view(entries: Mapping[str, _Entry]) -> _View:
    standing: dict[str, str] = {}
    for id in sorted(entries, key=lambda id: (entries[id].is_text, id)):
        standing.setdefault(entries[id].document, id)
    order = sorted(standing, key=lambda document: natural(entries[standing[document]].name))
    ids = [standing[document] for document in order]
    dates = [entries[id].date for id in ids]
    by_date = sorted(range(len(ids)), key=lambda at: dates[at], reverse=True)
    facets = {key: _coded([getattr(entries[id], key) for id in ids]) for key in FACETS}
    place = {document: at for at, document in enumerate(order)}
    return _View(ids, place, np.array(by_date, np.int64), facets)


def _coded(values: Sequence[tuple[str, ...]]) -> tuple[Sequence[str], Integers, Integers]:
    codes: dict[str, int] = {}
    pairs = [(at, codes.setdefault(value, len(codes))) for at, some in enumerate(values) for value in some]
    columns = np.array(pairs, np.int64).reshape(-1, 2)
    return list(codes), columns[:, 0], columns[:, 1]


def count_hits(hits: Iterable[Hit], keys: Sequence[str]) -> dict[str, dict[str, int]]:
    """How many results have each value of some keys, the most frequent first."""
    found: dict[str, Counter[str]] = {key: Counter() for key in checked_keys(keys)}
    for hit in hits:
        for key, counts in found.items():
            counts.update(_values(hit.metadata.get(key)))
    return {key: ranked_counts(counts) for key, counts in found.items()}


def in_order(answer: Answer, query: Query) -> Answer:
    """The page of an answer that a query asks for, by name or date; the answer to a query by score is one already."""
    if query.sort == "score":
        return answer
    page = sorted_hits(answer.hits, query.sort)[query.offset : query.offset + query.k]
    return replace(answer, hits=tuple(page), total=len(answer.hits))


def sorted_hits(hits: Iterable[Hit], sort: Sort) -> list[Hit]:
    """Results by name, or by date, newest first and those without one last; equal ones stay in their order."""
    if sort == "name":
        return sorted(hits, key=lambda hit: natural(name_of(hit.metadata) or hit.item or hit.id))
    return sorted(hits, key=lambda hit: date_of(hit.metadata), reverse=True)


def checked_keys(keys: Sequence[str]) -> Sequence[str]:
    """Keys whose values can be counted.

    Raises:
        ConfigError: for another one.
    """
    for key in keys:
        if key not in FACETS:
            raise ConfigError(f"values of {key!r:.60} are not counted; choose from {', '.join(FACETS)}.")
    return keys


def ranked_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts with the largest first, equal ones by name."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key to sort names by, in which numbers count as numbers.

    >>> sorted(["b 10", "B 9", "a"], key=natural)
    ['a', 'B 9', 'b 10']
    """
    pieces = _DIGITS.split(name.casefold())
    return [(0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in pieces if piece]


def name_of(metadata: Mapping[str, Any]) -> str:
    """What an item is called, empty where nothing says so."""
    return next((str(metadata[key]) for key in ("title", "name", "item") if metadata.get(key)), "")


def date_of(metadata: Mapping[str, Any]) -> str:
    """When an item was made, as it is written; empty where nothing says so."""
    return next((str(metadata[key]) for key in DATE_KEYS if metadata.get(key)), "")


def _values(value: object) -> tuple[str, ...]:
    some = value if isinstance(value, list | tuple) else (value,)
    return tuple(str(one) for one in some if one is not None and one != "")
