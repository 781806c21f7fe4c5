"""One score from three kinds of evidence, by a small logistic model that is learned from simulated queries.

For a query of typed words an item has three kinds of evidence: the cosine of the words with its image in the shared
space, the cosine of the words with its text, and BM25 of the words in its text, see `word_evidence`. The score is

    σ(bias + Σ_i weight_i · evidence_i),   weight_i ≥ 0,

so that it lies between 0 and 1 and means the same for every query. Where an item lacks a kind of evidence, or was not
among the best by it, the score of the last item listed by that evidence stands in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from diptych._core.arrays import Booleans, Floats

IMAGE, TEXT, WORDS = 0, 1, 2
_STRENGTH = 1.0
_RATIOS, _LOG_SCALES = (0.8, 1.25), (-2.0, 1.0)
EVIDENCE: tuple[Literal["image", "text", "words"], ...] = ("image", "text", "words")

PRIOR_WEIGHTS = (3.0, 10.0, 5.0)
"""Log-odds for a unit of each kind of evidence: what served judged queries of three collections with three text
encoders. What is learned from an index starts here and is drawn back here, for labels alone mislead: to a person who
types "red heart" the other symbols are no answer."""
_USUAL_SPREAD = 0.3
_USUAL_IMAGE, _USUAL_TEXT = (0.5, 0.2), (0.6, 0.3)
_TEXT_MIDDLE = 0.325
_LEAST_SCALE, _MOST_SCALE = 0.5, 6.0


@dataclass(frozen=True)
class Fusion:
    """The model.

    Attributes:
        weights: of the evidence by image, text and words.
        bias: what is added to their sum.
        typical: the evidence of an item that is listed last by each kind, on average.
        learned_from: "labels", "propagated labels", or "prior" where there was nothing to learn from.
    """

    weights: tuple[float, float, float]
    bias: float
    typical: tuple[float, float, float] = (0.15, 0.25, 0.0)
    learned_from: str = "prior"

    @classmethod
    def prior(
        cls,
        image: tuple[float, float] | None = None,
        text: tuple[float, float] | None = None,
        *,
        encoded: bool = True,
    ) -> "Fusion":
        """The model before anything is learned.

        Args:
            image: the evidence by image of the best item for a usual query, and of an ordinary one.
            text: the same by text.
            encoded: whether texts are compared by a pretrained encoder, whose cosines mean the same in every index.
                Cosines of a fitted space are compared with their usual spread.
        """
        image, text = image or _USUAL_IMAGE, text or _USUAL_TEXT
        image_weight = PRIOR_WEIGHTS[IMAGE] * _scale(image)
        text_weight = PRIOR_WEIGHTS[TEXT] * (1.0 if encoded else _scale(text))
        text_middle = _TEXT_MIDDLE if encoded else sum(text) / 2
        bias = -image_weight * sum(image) / 2 - text_weight * text_middle
        return cls((image_weight, text_weight, PRIOR_WEIGHTS[WORDS]), bias, (image[1], text[1], 0.0))

    def scores(self, evidence: Floats, used: Booleans | None = None) -> Floats:
        """The scores of items.

        Args:
            evidence: one row an item, with the three kinds in order and no gaps.
            used: which kinds count; all if left out.
        """
        weights = np.array(self.weights) * (1.0 if used is None else used)
        return sigmoid(self.bias + evidence @ weights)

    def contributions(self, evidence: Floats, floors: Floats) -> Floats:
        """How much each kind of evidence lifts each item above one that is only just listed."""
        return np.asarray((evidence - floors) * np.array(self.weights))

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "weights": list(self.weights),
            "bias": self.bias,
            "typical": list(self.typical),
            "learned_from": self.learned_from,
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "Fusion":
        """What `to_json` wrote."""
        image, text, words = (float(weight) for weight in written["weights"])
        first, second, third = (float(value) for value in written["typical"])
        bias, origin = float(written["bias"]), str(written["learned_from"])
        return cls((image, text, words), bias, (first, second, third), origin)


def _scale(levels: tuple[float, float]) -> float:
    """How many times the usual spread of cosines stands for the spread between two levels."""
    return min(max(_USUAL_SPREAD / max(levels[0] - levels[1], 1e-3), _LEAST_SCALE), _MOST_SCALE)


def learn_fusion(evidence: Floats, relevant: Booleans, prior: Fusion, learned_from: str) -> Fusion:
    """Logistic regression with weights that are not negative and stay near the prior's.

    With prior weights p_i, weight_i = s · p_i · r_i. Minimised over the common scale s, the ratios r_i between 0.8 and
    1.25, and the bias: the mean log-loss plus λ Σ_i (r_i − 1)². So the data decide freely how steep the score is, and
    the proportions of the prior change only where they insist.

    Args:
        evidence: one row a pair of query and item, without gaps.
        relevant: whether the item belongs to the query.
        prior: where to start.
        learned_from: what relevance comes from.
    """
    from scipy.optimize import minimize  # slow to import, and only building needs it

    start = np.array(prior.weights)
    truth = relevant.astype(np.float64)

    def loss(values: Floats) -> tuple[float, Floats]:
        ratios, bias, scale = values[:3], values[3], np.exp(values[4])
        logits = evidence @ (scale * start * ratios) + bias
        wrong = sigmoid(logits) - truth
        away = ratios - 1.0
        total = np.mean(np.logaddexp(0.0, logits) - truth * logits) + _STRENGTH * (away @ away)
        slopes = scale * start * (evidence.T @ wrong) / len(truth)
        return float(total), np.array([*(slopes + 2 * _STRENGTH * away), wrong.mean(), slopes @ ratios])

    bounds = [_RATIOS] * 3 + [(None, None), _LOG_SCALES]
    found = minimize(loss, np.array([1.0, 1.0, 1.0, prior.bias, 0.0]), jac=True, bounds=bounds, method="L-BFGS-B").x
    image, text, words = (float(weight) for weight in np.exp(found[4]) * start * found[:3])
    return Fusion((image, text, words), float(found[3]), prior.typical, learned_from)


def word_evidence(bm25: Floats, *, names: bool) -> Floats:
    """What BM25, between 0 and 1, is worth: its square, for a few common words in common are no evidence.

    Args:
        bm25: divided by the most it could be; a text of average length that holds each word once has about 0.45.
        names: whether the query holds a number or a part number, which is either the right one or a wrong one.
    """
    return np.minimum(1.0, 2.0 * bm25) if names else np.square(bm25)


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + e^-x), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(values, dtype=np.float64))))


def filled(evidence: Floats, floors: Floats) -> Floats:
    """Evidence without gaps: what an item lacks is taken to be that of the last item listed."""
    return np.where(np.isnan(evidence), floors, evidence)
