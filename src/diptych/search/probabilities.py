"""Maps from a score to the probability that two items belong together: monotone and piecewise linear, or logistic."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Floats
from diptych._core.errors import DataError
from diptych.search.pairs import Pairs

_LEAST_IN_STEP = 30
_FLATTEST = 1e-3
_ROUNDS = 50
_MOST_KNOTS = 64


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
