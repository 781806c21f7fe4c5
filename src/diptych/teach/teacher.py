"""Teach an index by answering questions: keep the answers, spread them, ask the next ones."""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from diptych._core.arrays import Booleans
from diptych._core.errors import UnknownItemError
from diptych.search import Hit, Searcher
from diptych.search.entries import document_of
from diptych.search.generation import Generation
from diptych.search.hits import plain_hits
from diptych.search.index_folder import write_lock
from diptych.teach.graph import ItemGraph
from diptych.teach.labels import Answer, CsvProblem, Label, LabelStore, read_csv, write_csv
from diptych.teach.questions import Clusters, Reason, choose
from diptych.teach.spreading import CERTAIN, Spread, Status

_OTHERS = 3
_MOST_NEW = 0.2
"""The share of new items from which on the whole graph is made anew."""

Order = Literal["uncertain", "certain", "id"]


@dataclass(frozen=True)
class TaughtItem:
    """An item with what is guessed of it.

    Attributes:
        hit: the item.
        guess: its class, given or guessed.
        certainty: the share of that class.
        taught: whether a person said so.
        others: the next classes and their shares.
        reason: why it is asked, if it is.
        cluster_size: how many items lie around it, if it is asked.
    """

    hit: Hit
    guess: str | None
    certainty: float
    taught: bool
    others: tuple[tuple[str, float], ...] = ()
    reason: Reason | None = None
    cluster_size: int | None = None


class Teacher:
    """Teaches one index; threads may share it. Other processes may write labels and items meanwhile.

    Args:
        searcher: the index.

    Attributes:
        graph: the items, as they were when they were last looked at; None before that.
    """

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self.folder = searcher.generations.folder
        self.labels = LabelStore(self.folder)
        self._lock = threading.RLock()
        self._token: object = None
        self._last_change, self._version = 0, -1
        self.graph: ItemGraph | None = None
        self._spread: Spread | None = None
        self._clusters: Clusters | None = None
        self._stored: dict[str, Label] = {}
        self._seconds = 0.0

    def status(self) -> Status:
        """How far teaching is."""
        with self._current() as (spread, clusters):
            stored = [label for label in self._stored.values() if self._is_there(label.item)]
            taught = [spread.graph.row_of[label.item] for label in stored if label.answer == "class"]
            counts, used = spread.counts(taught), clusters.sizes > 0
            return Status(
                items=int(spread.graph.living.sum()),
                answered=len(taught),
                dataset=len(spread.given) - len(taught),
                none=sum(label.answer == "none" for label in stored),
                skipped=sum(label.answer == "skip" for label in stored),
                spread=sum(count.spread for count in counts),
                uncertain=sum(count.spread - count.certain for count in counts),
                unreached=spread.unreached,
                classes=counts,
                held_out=spread.held_out(),
                clusters=int(used.sum()),
                clusters_answered=int((clusters.answered(self._answered(spread)) & used).sum()),
                seconds=self._seconds,
            )

    def next(self, n: int = 8) -> list[TaughtItem]:
        """The items whose label would help most."""
        with self._current() as (spread, clusters):
            asked = choose(spread, clusters, self._answered(spread), self._askable(spread), n)
            found = self._items(spread, [question.row for question in asked])
        return [
            TaughtItem(one.hit, one.guess, one.certainty, False, one.others, question.reason, question.cluster_size)
            for one, question in zip(found, asked, strict=True)
            if one is not None
        ]

    def items(
        self, label: str | None = None, *, order: Order = "uncertain", offset: int = 0, limit: int = 60
    ) -> tuple[list[TaughtItem], int]:
        """Items of a class, given or guessed, and how many there are; "" lists those that no class reached."""
        with self._current() as (spread, _):
            chosen = spread.graph.living.copy()
            if label is not None:
                number = spread.classes.index(label) if label in spread.classes else (-1 if label == "" else -2)
                chosen &= spread.guesses == number
            rows = np.flatnonzero(chosen)
            if order == "id":
                rows = np.array(sorted(rows, key=lambda row: spread.graph.items[row]), np.int64)
            else:
                certainty = spread.certainty[rows]
                rows = rows[np.argsort(certainty if order == "uncertain" else -certainty, kind="stable")]
            found = self._items(spread, rows[offset : offset + limit].tolist())
            return [one for one in found if one is not None], len(rows)

    def guesses(self, least: float = CERTAIN) -> dict[str, tuple[str, float]]:
        """The class and certainty of every item whose class is given or certain enough."""
        with self._current() as (spread, _):
            certainty, guesses = spread.certainty, spread.guesses
            rows = np.flatnonzero((guesses >= 0) & (certainty >= least))
            return {
                spread.graph.items[row]: (spread.classes[guesses[row]], float(certainty[row])) for row in rows.tolist()
            }

    def columns(self) -> dict[str, list[Any]]:
        """The item, class (given or guessed), certainty of it and whether it was taught, of every item."""
        with self._current() as (spread, _):
            rows = np.flatnonzero(spread.graph.living)
            guesses, certainty = spread.guesses[rows].tolist(), spread.certainty[rows]
            items = [spread.graph.items[row] for row in rows.tolist()]
            taught = {label.item for label in self._stored.values() if label.answer == "class"}
            return {
                "items": items,
                "labels": [spread.classes[guess] if guess >= 0 else None for guess in guesses],
                "certainties": certainty.round(4).tolist(),
                "taught": [item in taught for item in items],
            }

    def answer(
        self, items: Sequence[str], label: str | None, *, who: str, answer: Answer = "class"
    ) -> list[Label | None]:
        """Keep one answer for some items; returns the answers they had.

        Raises:
            UnknownItemError: when one of the items is not there; then nothing is kept.
        """
        named = self.resolve(items)
        before = self.labels.get(named)
        self.labels.put([Label.now(item, label, who=who, answer=answer) for item in named])
        return before

    def forget(self, items: Sequence[str], *, who: str) -> list[Label | None]:
        """Forget the answers for some items; returns them. Items that are not there any more are no error."""
        named = [item or asked for item, asked in zip(self._named(items), items, strict=True)]
        before = self.labels.get(named)
        self.labels.remove(named, who)
        return before

    def import_csv(self, text: str, *, who: str) -> tuple[int, int, list[CsvProblem]]:
        """Keep the labels of a table; returns how many, how many of items that are not there, and bad lines."""
        labels, problems = read_csv(text, who)
        found = self._named([label.item for label in labels])
        kept = [
            Label(item or label.item, label.answer, label.label, label.who, label.time, label.source)
            for item, label in zip(found, labels, strict=True)
        ]
        self.labels.put(kept)
        return len(kept), sum(item is None for item in found), problems

    def export_csv(self) -> str:
        """All labels as a table."""
        return write_csv(self.labels.all().values())

    def resolve(self, ids: Sequence[str]) -> list[str]:
        """The items of ids, which may be those of entries.

        Raises:
            UnknownItemError: when there is no such item.
        """
        found = self._named(ids)
        for id, item in zip(ids, found, strict=True):
            if item is None:
                raise UnknownItemError(f"there is no item {id[:200]!r}.")
        return [item for item in dict.fromkeys(found) if item is not None]

    def close(self) -> None:
        """Give back the file of labels; the searcher stays open."""
        self.labels.close()

    def _named(self, ids: Sequence[str]) -> list[str | None]:
        with self._current() as (_, _):
            open_ = [id for id in ids if not self._is_there(id)]
            entries = dict(
                zip(open_, self.searcher.generations.read(lambda index: index.index.get(open_)), strict=True)
            )
            items = {id: document_of(id, entry.metadata) for id, entry in entries.items() if entry is not None}
            return [id if id not in entries else items.get(id) for id in ids]

    def _is_there(self, item: str) -> bool:
        graph = self.graph
        return graph is not None and item in graph.row_of and bool(graph.living[graph.row_of[item]])

    def _answered(self, spread: Spread) -> set[int]:
        rows = spread.graph.row_of
        return {*spread.given, *spread.refused, *(rows[item] for item in self._stored if item in rows)}

    @staticmethod
    def _askable(spread: Spread) -> Booleans:
        """Items that a model may learn from: those of the training split, and those that came without a split."""
        splits = [None if (info := spread.graph.info.get(item)) is None else info.split for item in spread.graph.items]
        learned = np.array([split in (None, "train") for split in splits], np.bool_)
        return learned if learned.any() else np.ones(len(learned), np.bool_)

    def _items(self, spread: Spread, rows: Iterable[int]) -> list[TaughtItem | None]:
        wanted = list(rows)
        entries = [spread.graph.info[spread.graph.items[row]].entry for row in wanted]

        def look(index: Generation) -> dict[str, Hit]:
            present = [item for item in index.index.get(entries) if item is not None]
            return {hit.id: hit for hit in plain_hits(index.index, present, index.model.modalities)}

        hits = self.searcher.generations.read(look)
        return [
            self._item(spread, row, hits[entry]) if entry in hits else None
            for row, entry in zip(wanted, entries, strict=True)
        ]

    def _item(self, spread: Spread, row: int, hit: Hit) -> TaughtItem:
        shares = spread.shares[row]
        order = np.argsort(-shares, kind="stable")[: _OTHERS + 1]
        ranked = [(spread.classes[place], float(shares[place])) for place in order if shares[place] > 0]
        first = ranked[0] if ranked else (None, 0.0)
        stored = self._stored.get(spread.graph.items[row])
        return TaughtItem(hit, first[0], first[1], stored is not None and stored.answer == "class", tuple(ranked[1:]))

    @contextmanager
    def _current(self) -> Iterator[tuple[Spread, Clusters]]:
        """What is known now, with all that was written and answered by whomever."""
        with self._lock:
            started = time.perf_counter()
            stale = self.searcher.generations.read(self._follow)
            version = self.labels.version
            if stale or version != self._version or self._spread is None:
                self._stored = self.labels.all()
                self._spread = self._spread_again(stale)
                self._version = version
                self._seconds = time.perf_counter() - started
            assert self._clusters is not None
            yield self._spread, self._clusters

    def _follow(self, index: Generation) -> bool:
        """Bring the graph in step with the index; whether it changed."""
        same = index.token == self._token
        after = self._last_change if same else 0
        if same and not index.store.changes(after):
            return False
        with write_lock(index.folder):  # a change is listed before it is made; nobody is in the middle of one now
            changes = index.store.changes(after)
        if not same or self.graph is None or len(changes) > _MOST_NEW * len(self.graph.items):
            self.graph = ItemGraph.of(index)
        else:
            self.graph = self.graph.changed(index, [change.id for change in changes])
        self._clusters = Clusters.find(self.graph)
        self._token, self._last_change = index.token, changes[-1].number if changes else after
        return True

    def _spread_again(self, stale: bool) -> Spread:
        graph = self.graph
        assert graph is not None
        given = {graph.row_of[item]: info.label for item, info in graph.info.items() if info.label is not None}
        refused = set()
        for label in self._stored.values():
            if self._is_there(label.item):
                row = graph.row_of[label.item]
                if label.label is not None:
                    given[row] = label.label
                elif label.answer == "none":
                    given.pop(row, None)
                    refused.add(row)
        given = {row: name for row, name in given.items() if graph.living[row]}
        if self._spread is None or stale:
            return Spread.of(graph, given, frozenset(refused))
        return self._spread.changed(given, frozenset(refused))
