"""Rank documents by the lists that their entries are on, fusing three kinds of evidence into one score.

For a typed query a document has three kinds of evidence: the cosine of the query with its image in the shared space,
the cosine with its text, and BM25 of the typed words in its text, see `word_evidence`. The score is

    σ(bias + Σ_i weight_i · evidence_i),   weight_i ≥ 0,

a small logistic model learned from simulated queries, so that it lies between 0 and 1 and is comparable between
queries. Where a document lacks a kind of evidence, or was not among the best by it, the score of the last entry listed
by that evidence stands in.

A pool of the best by each kind of evidence is ranked by the fused score. Its depth is the same for every page, so that
pages never repeat or skip a document. What comes after the pool is ranked by the best of its lists.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diptych._core.arrays import Booleans, Floats
from diptych.search.listing import EVIDENCE, IMAGE, TEXT, WORDS, Listed
from diptych.search.probability import sigmoid

_STRENGTH = 1.0
_RATIOS, _LOG_SCALES = (0.8, 1.25), (-2.0, 1.0)

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


def filled(evidence: Floats, floors: Floats) -> Floats:
    """Evidence without gaps: what an item lacks is taken to be that of the last item listed."""
    return np.where(np.isnan(evidence), floors, evidence)


POOL = 200
"""How many entries of each list are ranked together."""
_UNKNOWN = [math.nan] * len(EVIDENCE)


@dataclass
class Ranked:
    """One document in a ranking.

    Attributes:
        document: which one.
        score: what it is ranked by.
        entries: its entries that were listed, the best of each modality: the list and the place on it.
        evidence: what is known of it: the cosines with image and text, and BM25; NaN where nothing is.
        side: the kind of evidence that counts most.
    """

    document: str
    score: float
    entries: dict[str, tuple[Listed, int]] = field(default_factory=dict)
    evidence: list[float] = field(default_factory=_UNKNOWN.copy)
    side: int = 0


Line = Callable[[Floats], Floats]
"""From a list's scores to values that are comparable between lists; never falls."""


def gathered(lists: Sequence[tuple[int, Listed]]) -> list[Ranked]:
    """The documents of several lists, each with its best evidence of each kind; not in order."""
    found: dict[str, Ranked] = {}
    for kind, listed in lists:
        columns = zip(listed.documents, listed.modalities, listed.scores.tolist(), strict=True)
        for place, (document, modality, score) in enumerate(columns):
            one = found.get(document)
            if one is None:
                one = found[document] = Ranked(document, 0.0)
            if not one.evidence[kind] >= score:  # a list is best first, but there may be several of a kind
                one.evidence[kind] = score
                if kind != WORDS or modality not in one.entries:
                    one.entries[modality] = listed, place
    return list(found.values())


def fused(
    lists: Sequence[tuple[int, Listed]],
    fusion: Fusion,
    used: Booleans,
    excluded: Collection[str] = (),
    *,
    names: bool = False,
) -> tuple[list[Ranked], Floats]:
    """The documents of the pool, best first, and the evidence that stands in for what an item lacks.

    Args:
        lists: each with its kind of evidence.
        fusion: makes one score of the evidence.
        used: which kinds of evidence count.
        excluded: documents that are no answer.
        names: whether the query holds a number or a part number.
    """
    documents = [one for one in gathered(lists) if one.document not in excluded]
    evidence, floors = fusable(lists, documents, fusion.typical, names=names)
    if not documents:
        return [], floors
    scores = fusion.scores(evidence, used)
    sides = np.argmax(np.where(used, fusion.contributions(evidence, floors), -np.inf), axis=1)
    for one, score, side in zip(documents, scores.tolist(), sides.tolist(), strict=True):
        one.score, one.side = score, side
    documents.sort(key=lambda one: (-one.score, one.document))
    return documents, floors


def fusable(
    lists: Sequence[tuple[int, Listed]], documents: Sequence[Ranked], typical: Sequence[float], *, names: bool
) -> tuple[Floats, Floats]:
    """The evidence of documents without gaps, as the fusion takes it, and what stands in for gaps."""
    floors = floors_of(lists, typical)
    evidence = filled(np.array([one.evidence for one in documents]).reshape(-1, len(EVIDENCE)), floors)
    for values in (evidence.T, floors):
        values[WORDS] = word_evidence(values[WORDS], names=names)
    return evidence, floors


def floors_of(lists: Sequence[tuple[int, Listed]], typical: Sequence[float]) -> Floats:
    """For each kind of evidence the score of the last entry listed, or what is typical where nothing is listed.

    Words that not all entries hold have 0 there.
    """
    floors = np.array(typical, dtype=np.float64)
    floors[WORDS] = 0.0
    for kind in range(len(EVIDENCE)):
        scores = [listed.scores for of, listed in lists if of == kind and len(listed)]
        partial = any(of == kind and not listed.complete for of, listed in lists)
        if scores and (EVIDENCE[kind] != "words" or partial):
            floors[kind] = min(float(each[-1]) for each in scores)
    return floors


def merged(
    lists: Sequence[tuple[int, Listed, Line]], wanted: int, excluded: Collection[str] = ()
) -> list[Ranked] | None:
    """The best documents by the best of their sides; None where the lists do not reach deep enough to tell.

    Args:
        lists: each with its kind of evidence and the line that makes its scores comparable with those of others.
        wanted: how many documents, fewer if there are no more.
        excluded: documents that are no answer.
    """
    best: dict[str, Ranked] = {}
    certain = -math.inf
    for kind, listed, line in lists:
        values = line(listed.scores).tolist()
        if values and not listed.complete:
            certain = max(certain, values[-1])  # an entry further down may be as good as this, and none better
        columns = zip(listed.documents, listed.modalities, listed.scores.tolist(), values, strict=True)
        for place, (document, modality, score, value) in enumerate(columns):
            if document in excluded:
                continue
            one = best.get(document)
            if one is None:
                one = best[document] = Ranked(document, -math.inf)
            if not one.evidence[kind] >= score:
                one.evidence[kind] = score
                one.entries[modality] = listed, place
            if value > one.score:
                one.score, one.side = value, kind
    complete = all(listed.complete for _, listed, _ in lists)
    known = [one for one in best.values() if complete or one.score > certain]
    if len(known) < wanted and not complete:
        return None
    known.sort(key=lambda one: (-one.score, one.document))
    return known[:wanted]
