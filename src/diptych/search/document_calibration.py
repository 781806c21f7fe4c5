"""What is learned of an index about finding documents: the fusion of evidence, and what its scores mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diptych._core.arrays import Floats
from diptych.search.fusion import Fusion, sigmoid
from diptych.search.pairs import Pairs, Side, itself
from diptych.search.presence import Presence
from diptych.search.probability_map import ProbabilityMap

_FLATTEST = 1e-3
_ROUNDS = 50
_MOST_QUERIES = 500


@dataclass(frozen=True)
class CosineLine:
    """The log-odds of belonging at a cosine, as a rising straight line (Platt, 1999): it compares sides of an item.

    Attributes:
        slope: always positive.
        intercept: at cosine 0.
    """

    slope: float
    intercept: float

    def __call__(self, cosines: Floats) -> Floats:
        """The log-odds at some cosines."""
        return np.asarray(self.intercept + self.slope * cosines)

    def inverse(self, log_odds: Floats) -> Floats:
        """The cosines at some log-odds."""
        return np.asarray((log_odds - self.intercept) / self.slope)


@dataclass(frozen=True)
class DocumentCalibration:
    """How documents are ranked and judged for one purpose.

    Attributes:
        fusion: makes one score of the evidence for typed words.
        typed: by mode, what that score means for typed words.
        lines: by who asks and which side is compared, what a cosine is worth.
        asked: by who asks, what the score of a document's best side means.
        presence: tells whether anything in the index answers typed words; None where nothing could be learned.
        facts: how it was learned and how it does on test items.
    """

    fusion: Fusion = field(default_factory=Fusion.prior)
    typed: Mapping[str, ProbabilityMap] = field(default_factory=dict)
    lines: Mapping[tuple[str, str], CosineLine] = field(default_factory=dict)
    asked: Mapping[str, ProbabilityMap] = field(default_factory=dict)
    presence: Presence | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def line(self, asker: str | None, gallery: str) -> CosineLine | None:
        """What a cosine of a query with a side of an item is worth; None where nothing is known of that."""
        return None if asker is None else self.lines.get((asker, gallery))

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "fusion": self.fusion.to_json(),
            "typed": {mode: curve.to_json() for mode, curve in self.typed.items()},
            "lines": [[asker, gallery, line.slope, line.intercept] for (asker, gallery), line in self.lines.items()],
            "asked": {asker: curve.to_json() for asker, curve in self.asked.items()},
            "presence": None if self.presence is None else self.presence.to_json(),
            "facts": dict(self.facts),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any] | None) -> "DocumentCalibration":
        """What `to_json` wrote, or nothing, as earlier versions did."""
        if not written:
            return cls()
        return cls(
            Fusion.from_json(written["fusion"]),
            {mode: ProbabilityMap.from_json(curve) for mode, curve in written["typed"].items()},
            {(asker, gallery): CosineLine(slope, intercept) for asker, gallery, slope, intercept in written["lines"]},
            {asker: ProbabilityMap.from_json(curve) for asker, curve in written["asked"].items()},
            None if written["presence"] is None else Presence.from_json(written["presence"]),
            written["facts"],
        )


def fit_line(pairs: Pairs, growth: float = 1.0) -> CosineLine | None:
    """Logistic regression of relevance on the cosine, by Newton's method; None where the pairs tell nothing.

    Args:
        pairs: weighted, so that they stand for all pairs.
        growth: how many times as many items the index has for as many that are relevant.
    """
    if not pairs.tell_anything:
        return None
    weights = pairs.weights / pairs.weights.sum()
    design = np.stack([np.ones(len(pairs)), pairs.cosines], axis=1)
    beta = np.zeros(2)
    for _ in range(_ROUNDS):
        chance = 0.5 * (1 + np.tanh(0.5 * (design @ beta)))
        gradient = design.T @ (weights * (chance - pairs.relevant)) + 1e-6 * beta
        hessian = (design * (weights * chance * (1 - chance) + 1e-12)[:, None]).T @ design + 1e-6 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        beta = beta - step * min(1.0, 5.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-8:
            break
    intercept, slope = beta
    return CosineLine(max(float(slope), _FLATTEST), float(intercept) - float(np.log(growth)))


def best_side_pairs(
    queries: Side,
    sides: Mapping[str, Side],
    lines: Mapping[str, CosineLine],
    random: np.random.Generator,
    *,
    partners: bool,
) -> Pairs:
    """Pairs of a query and an item, scored by the best side of the item.

    Args:
        queries: who asks.
        sides: the items by modality.
        lines: what a cosine with each side is worth.
        random: draws queries where there are many.
        partners: whether an item belongs to itself, found by its other side; else it is left out.
    """
    asked = queries.take(random.permutation(len(queries))[:_MOST_QUERIES])
    items = np.unique(np.concatenate([side.items for side in sides.values()]))
    scores = np.full((len(asked), len(items)), -np.inf)
    shared = np.zeros(scores.shape, np.bool_)
    for name, side in sides.items():
        columns = np.searchsorted(items, side.items)
        found = sigmoid(lines[name](asked.codes @ side.codes.T))
        scores[:, columns] = np.maximum(scores[:, columns], np.where(itself(asked, side), -np.inf, found))
        shared[:, columns] |= asked.labels.shared_with(side.labels)
    kept = np.isfinite(scores)
    if not partners:
        kept &= asked.items[:, None] != items[None, :]
    return Pairs(scores[kept], shared[kept], np.ones(int(kept.sum())))
