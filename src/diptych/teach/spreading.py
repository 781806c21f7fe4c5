"""Labels spread over the graph of the items, and what is known of every class by that.

Spreading is linear in the labels, class by class: after an answer only the classes it concerns are spread again, and
the result is what `diptych.methods.propagation` gives for all labels at once.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from diptych._core.arrays import Booleans, Floats, Integers
from diptych.methods.propagation import balanced_shares, diffused
from diptych.teach.graph import ItemGraph

CERTAIN = 0.5
"""The share from which on a guess counts as certain: it is then more often right than not."""
_AT_ONCE = 32  # answers whose own influence is computed together
MOST_HELD_OUT = 200


@dataclass(frozen=True)
class HeldOut:
    """How often an answer is what all other answers say of its item.

    Attributes:
        answers: how many were looked at.
        right: how many of them were right.
    """

    answers: int
    right: int

    @property
    def accuracy(self) -> float:
        """The share that was right."""
        return self.right / self.answers

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of that share at 95 %.

        >>> [round(limit, 2) for limit in HeldOut(10, 9).interval]
        [0.6, 0.98]
        """
        z, n, share = 1.96, self.answers, self.accuracy
        centre, spread = share + z * z / (2 * n), z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        low, high = (centre - spread) / (1 + z * z / n), (centre + spread) / (1 + z * z / n)
        return float(max(0.0, low)), float(min(1.0, high))


@dataclass(frozen=True)
class ClassCount:
    """What is known of a class: items answered, items of the dataset, items it spread to, and how many are certain."""

    label: str
    taught: int
    dataset: int
    spread: int
    certain: int


@dataclass(frozen=True)
class Status:
    """How far teaching is.

    Attributes:
        items: in the index.
        answered: with a class, by a person.
        dataset: with a class that came with the dataset.
        none: said to be none of the classes.
        skipped: without an answer for now.
        spread: items with a guessed class.
        uncertain: those of them whose guess is not certain.
        unreached: items without an answer that no class reached.
        classes: in the order of their names.
        held_out: how often answers are predicted by the others.
        clusters: of items that lie together.
        clusters_answered: those with an answer.
        seconds: what it took to bring this up to date.
    """

    items: int
    answered: int
    dataset: int
    none: int
    skipped: int
    spread: int
    uncertain: int
    unreached: int
    classes: tuple[ClassCount, ...]
    held_out: HeldOut | None
    clusters: int
    clusters_answered: int
    seconds: float


@dataclass(frozen=True)
class Spread:
    """Labels spread over a graph; a new one is made after each change and shares what did not change.

    Attributes:
        graph: the items.
        given: the class of every row that has a label.
        refused: rows that were said to be none of the classes.
        classes: in the order of the columns.
        raw: each class spread, before columns and rows are balanced.
        shares: the share of every row in every class.
    """

    graph: ItemGraph
    given: Mapping[int, str]
    refused: frozenset[int]
    classes: tuple[str, ...]
    raw: Mapping[str, Floats]
    shares: Floats
    influence: dict[int, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: ItemGraph, given: Mapping[int, str], refused: frozenset[int]) -> "Spread":
        """Spread all labels."""
        empty = cls(graph, {}, frozenset(), (), {}, np.zeros((len(graph.items), 0)))
        return empty.changed(given, refused)

    def changed(self, given: Mapping[int, str], refused: frozenset[int]) -> "Spread":
        """Spread again the classes whose labels differ."""
        before, now = _members(self.given), _members(given)
        stale = [name for name in now if before.get(name) != now[name]]
        columns = np.zeros((len(self.graph.items), len(stale)))
        for place, name in enumerate(stale):
            columns[list(now[name]), place] = 1.0
        fresh = dict(zip(stale, diffused(self.graph.graph, columns).T, strict=True)) if stale else {}
        classes = tuple(sorted(now))
        raw = {name: fresh[name] if name in fresh else self.raw[name] for name in classes}
        made = replace(self, given=dict(given), refused=refused, classes=classes, raw=raw)
        return replace(made, shares=made._balanced())

    def _balanced(self) -> Floats:
        if not self.classes:
            return np.zeros((len(self.graph.items), 0))
        shares = balanced_shares(np.stack([self.raw[name] for name in self.classes], axis=1))
        number = {name: place for place, name in enumerate(self.classes)}
        rows = np.fromiter(self.given, np.int64, len(self.given))
        shares[rows] = 0.0
        shares[rows, [number[name] for name in self.given.values()]] = 1.0
        shares[[*self.refused]] = 0.0
        shares[~self.graph.living] = 0.0
        return shares

    @property
    def certainty(self) -> Floats:
        """The largest share of each row; zero where no label reached it."""
        return np.asarray(self.shares.max(axis=1)) if self.classes else np.zeros(len(self.graph.items))

    @property
    def guesses(self) -> Integers:
        """The class of each row's largest share; -1 for none."""
        if not self.classes:
            return np.full(len(self.graph.items), -1)
        return np.where(self.certainty > 0, self.shares.argmax(axis=1), -1)

    @property
    def _open(self) -> Booleans:
        """Rows of items without an answer."""
        free = self.graph.living.copy()
        free[sorted({*self.given, *self.refused})] = False
        return np.asarray(free)

    @property
    def unreached(self) -> int:
        """How many items have neither an answer nor a guess."""
        return int((self._open & (self.guesses < 0)).sum())

    def counts(self, taught: Collection[int]) -> tuple[ClassCount, ...]:
        """What is known of each class, where these rows were answered by a person."""
        open_, guesses, certain = self._open, self.guesses, self.certainty >= CERTAIN
        own, given = Counter(self.given[row] for row in taught), Counter(self.given.values())
        found = []
        for number, name in enumerate(self.classes):
            mine = (guesses == number) & open_
            found.append(
                ClassCount(name, own[name], given[name] - own[name], int(mine.sum()), int((mine & certain).sum()))
            )
        return tuple(found)

    def held_out(self) -> HeldOut | None:
        """Predict every answer from all others; None where no class has two.

        An answer that is the only one of its class cannot be predicted by others and is left out. Of many answers
        some are looked at, always the same ones.
        """
        counts = {name: len(members) for name, members in _members(self.given).items()}
        rows = [row for row, name in self.given.items() if counts[name] > 1 and self.graph.living[row]]
        if len(self.classes) < 2 or not rows:
            return None
        step = -(-len(rows) // MOST_HELD_OUT)
        chosen = sorted(rows, key=lambda row: self.graph.items[row])[::step]
        self._measure([row for row in chosen if row not in self.influence])
        raw = np.stack([self.raw[name] for name in self.classes], axis=1)
        own = np.array([self.classes.index(self.given[row]) for row in chosen])
        left, mass = raw[chosen], np.repeat(raw.sum(axis=0, keepdims=True), len(chosen), axis=0)
        places = np.arange(len(chosen))
        left[places, own] -= [self.influence[row][0] for row in chosen]
        mass[places, own] -= [self.influence[row][1] for row in chosen]
        shares = balanced_shares(np.maximum(left, 0.0), np.maximum(mass, 0.0))
        return HeldOut(len(chosen), int(((shares.argmax(axis=1) == own) & shares.any(axis=1)).sum()))

    def _measure(self, rows: Sequence[int]) -> None:
        """What a label at each row gives to the row itself, and to all rows together."""
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            columns = np.zeros((len(self.graph.items), len(some)))
            columns[some, np.arange(len(some))] = 1.0
            spread = diffused(self.graph.graph, columns)
            self.influence.update(
                {row: (float(spread[row, place]), float(spread[:, place].sum())) for place, row in enumerate(some)}
            )


def _members(given: Mapping[int, str]) -> dict[str, frozenset[int]]:
    found: dict[str, list[int]] = {}
    for row, name in given.items():
        found.setdefault(name, []).append(row)
    return {name: frozenset(rows) for name, rows in found.items()}
