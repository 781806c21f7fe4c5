"""Probabilities that a query and an item belong together: maps from scores of pairs, learned on validation items."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Booleans, Floats, Integers, Singles
from diptych._core.errors import DataError
from diptych.data import Labels, Partition

MOST_PAIRS = 200_000
_MOST_QUERIES, _TABLE = 2_000, 4_000_000
_LEAST_IN_STEP, _MOST_KNOTS = 30, 64
_FLATTEST, _ROUNDS = 1e-3, 50


@dataclass(frozen=True)
class Side:
    """The items of one modality, as queries or as what is searched.

    Attributes:
        modality: which one.
        embeddings: one row of length 1 an item.
        labels: items that share one belong together.
        items: which item of the dataset each row is; none is paired with itself in its own modality.
    """

    modality: str
    embeddings: Floats
    labels: Labels
    items: Integers

    @classmethod
    def of(cls, modality: str, part: Partition, embeddings: Singles) -> "Side":
        """The items that have a direction and at least one label."""
        lengths = np.linalg.norm(embeddings.astype(np.float64), axis=1)
        usable = (lengths > 0) & np.isfinite(lengths) & part.labels.is_labelled
        rows = embeddings[usable].astype(np.float64) / lengths[usable, None]
        return cls(modality, rows, part.labels.take(usable), part.index[usable])

    def narrowed(self, columns: slice) -> "Side":
        """The items in the space of some columns; those without a direction there are left out."""
        if columns == slice(None):
            return self
        rows = self.embeddings[:, columns]
        lengths = np.linalg.norm(rows, axis=1)
        usable = lengths > 0
        rows = rows[usable] / lengths[usable, None]
        return Side(self.modality, rows, self.labels.take(usable), self.items[usable])

    def scored_by(self, part: Partition) -> "Side":
        """The items that have a label in a partition of them, with these labels."""
        order = np.argsort(part.index)
        labels = part.labels.take(order[np.searchsorted(part.index, self.items, sorter=order)])
        labelled = labels.is_labelled
        return Side(self.modality, self.embeddings[labelled], labels.take(labelled), self.items[labelled])

    def __len__(self) -> int:
        return len(self.items)

    def take(self, chosen: Integers | Booleans) -> "Side":
        """Some of the items."""
        return Side(self.modality, self.embeddings[chosen], self.labels.take(chosen), self.items[chosen])


@dataclass(frozen=True)
class Pairs:
    """Pairs of a query and an item, drawn so that their weights stand for all pairs.

    Attributes:
        cosines: of each pair.
        relevant: whether its two belong together.
        weights: how many pairs it stands for.
    """

    cosines: Floats
    relevant: Booleans
    weights: Floats

    def __len__(self) -> int:
        return len(self.cosines)

    def joined(self, others: "Pairs", scale: float) -> "Pairs":
        """These pairs, their weights scaled, and others."""
        return Pairs(
            np.concatenate([others.cosines, self.cosines]),
            np.concatenate([others.relevant, self.relevant]),
            np.concatenate([others.weights, self.weights * scale]),
        )

    @property
    def relevant_share(self) -> float:
        """The share of all pairs that belong together."""
        return float(np.average(self.relevant, weights=self.weights)) if len(self) else 0.0

    @property
    def tell_anything(self) -> bool:
        """Whether there are both: pairs that belong together and pairs that do not."""
        return bool(self.relevant.any() and not self.relevant.all())


def draw_pairs(queries: Side, gallery: Side, random: np.random.Generator, most: int = MOST_PAIRS) -> Pairs:
    """Draw pairs of a query and a gallery item, half of them relevant where there are so many.

    At most 2,000 queries are drawn, each with the whole gallery. Relevant and other pairs are drawn apart and weighed
    by how many there were of each, so that rare partners are all seen and the shares stay right.
    """
    asked = queries.take(random.permutation(len(queries))[:_MOST_QUERIES])
    step = max(1, _TABLE // max(1, len(gallery)))
    blocks = range(0, len(asked), step)
    quota = max(2, most // max(1, len(blocks)))
    drawn = [_of_block(asked.take(np.arange(i, min(i + step, len(asked)))), gallery, random, quota) for i in blocks]
    if not drawn:
        return Pairs(np.zeros(0), np.zeros(0, np.bool_), np.zeros(0))
    return Pairs(
        np.concatenate([pairs.cosines for pairs in drawn]),
        np.concatenate([pairs.relevant for pairs in drawn]),
        np.concatenate([pairs.weights for pairs in drawn]),
    )


def itself(queries: Side, gallery: Side) -> Booleans:
    """The pairs of an item with itself, which nobody asks about: only where both are of one modality."""
    if queries.modality != gallery.modality:
        return np.zeros((len(queries), len(gallery)), np.bool_)
    return np.asarray(queries.items[:, None] == gallery.items[None, :])


def _of_block(queries: Side, gallery: Side, random: np.random.Generator, quota: int) -> Pairs:
    shared, own = queries.labels.shared_with(gallery.labels), itself(queries, gallery)
    relevant, others = np.flatnonzero(shared & ~own), np.flatnonzero(~shared & ~own)
    with_partner = min(len(relevant), max(quota // 2, quota - len(others)))
    without = min(len(others), quota - with_partner)
    picked = [_some(relevant, with_partner, random), _some(others, without, random)]
    table = (queries.embeddings @ gallery.embeddings.T).ravel()
    counts = np.array([len(relevant), len(others)]) / np.maximum(1, [with_partner, without])
    return Pairs(
        table[np.concatenate(picked)],
        np.repeat([True, False], [with_partner, without]),
        np.repeat(counts, [with_partner, without]),
    )


def _some(places: Integers, count: int, random: np.random.Generator) -> Integers:
    if count == len(places):
        return places
    return np.asarray(random.choice(places, count, replace=False, shuffle=False))


@dataclass(frozen=True, eq=False)
class ProbabilityMap:
    """A monotone, piecewise linear map; level outside its knots.

    Attributes:
        scores: cosines, rising.
        probabilities: at those, never falling.
    """

    scores: Floats
    probabilities: Floats

    def __call__(self, cosines: ArrayLike) -> Floats:
        """The probability at each cosine."""
        return np.asarray(np.interp(np.asarray(cosines, dtype=np.float64), self.scores, self.probabilities))

    def in_gallery(self, growth: float) -> "ProbabilityMap":
        """The map where a query has as many partners as before among `growth` times as many items.

        The odds of belonging fall by that factor at every cosine, for what belongs and what does not are distributed
        over cosines as before.
        """
        odds = self.probabilities / growth
        return ProbabilityMap(self.scores, odds / (odds + 1 - self.probabilities))

    def to_json(self) -> dict[str, Any]:
        """The knots."""
        return {"scores": self.scores.tolist(), "probabilities": self.probabilities.tolist()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "ProbabilityMap":
        """The knots that `to_json` wrote, checked."""
        scores = np.asarray(value["scores"], dtype=np.float64)
        probabilities = np.asarray(value["probabilities"], dtype=np.float64)
        fine = scores.ndim == 1 and scores.shape == probabilities.shape and len(scores)
        if not fine or np.any(np.diff(scores) <= 0) or np.any(np.diff(probabilities) < 0):
            raise DataError("the calibration is damaged; build the index again with `diptych index`.")
        return cls(scores, probabilities)


def fit_map(pairs: Pairs) -> ProbabilityMap | None:
    """Isotonic regression of relevance on cosine (Zadrozny and Elkan, KDD 2002), made smooth and small.

    The steps of the regression become knots at their mean cosine. A step counts at least 30 pairs, joined with its
    neighbour until it does, and its rate r of n is taken as (r + ½) / (n + 1): a few lucky pairs at the top do not
    make certainty. Knots that a straight line replaces best are left out until 64 remain.

    Returns:
        The map, or None where the pairs are all alike and tell nothing.
    """
    if not pairs.tell_anything:
        return None
    steps = _joined(_steps(pairs))
    sizes, share = steps[:, 0], steps[:, 2] / steps[:, 1]
    rates = np.maximum.accumulate((share * sizes + 0.5) / (sizes + 1))
    scores = steps[:, 3] / steps[:, 1]
    distinct = np.concatenate([[True], np.diff(scores) > 0])
    return ProbabilityMap(*_thinned(scores[distinct], rates[distinct]))


def _steps(pairs: Pairs) -> Floats:
    """One row a step of the isotonic regression: how many pairs, their weight, that of the relevant, of the cosines."""
    from sklearn.isotonic import IsotonicRegression  # slow to import, and only building needs it

    order = np.argsort(pairs.cosines, kind="stable")
    cosines, weights = pairs.cosines[order], pairs.weights[order]
    relevant = pairs.relevant[order].astype(np.float64)
    fitted = IsotonicRegression().fit_transform(cosines, relevant, sample_weight=weights)
    starts = np.flatnonzero(np.concatenate([[True], np.abs(np.diff(fitted)) > 1e-12]))
    columns = np.ones_like(weights), weights, weights * relevant, weights * cosines
    return np.stack([np.add.reduceat(column, starts) for column in columns], axis=1)


def _joined(steps: Floats) -> Floats:
    """Join steps with the next until each has enough pairs; what is left at the top joins the last."""
    joined: list[Floats] = []
    gathered = np.zeros(steps.shape[1])
    for step in steps:
        gathered = gathered + step
        if gathered[0] >= _LEAST_IN_STEP:
            joined.append(gathered)
            gathered = np.zeros(steps.shape[1])
    if gathered[0] and joined:
        joined[-1] = joined[-1] + gathered
    elif gathered[0]:
        joined.append(gathered)
    return np.stack(joined)


def _thinned(scores: Floats, rates: Floats) -> tuple[Floats, Floats]:
    while len(scores) > _MOST_KNOTS:
        slope = (rates[2:] - rates[:-2]) / (scores[2:] - scores[:-2])
        straight = rates[:-2] + slope * (scores[1:-1] - scores[:-2])
        least = 1 + int(np.argmin(np.abs(straight - rates[1:-1])))
        scores, rates = np.delete(scores, least), np.delete(rates, least)
    return scores, rates


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


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + e^-x), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(values, dtype=np.float64))))
