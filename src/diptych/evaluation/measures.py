"""The scores of every query under every measure, gathered from a stream of hit positions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from diptych.arrays import Floats, Integers
from diptych.evaluation.average_precision import (
    Denominator,
    average_precision_at,
    interpolated_precision,
    precision_at,
    recall_at,
)
from diptych.evaluation.chance import expected_average_precision, expected_precision, expected_recall
from diptych.evaluation.ranking import HitPositions


@dataclass(frozen=True)
class Measure:
    """One number per query, by the name it has in a result, and what a random ranking would score.

    Attributes:
        name: such as "map", "map@50" or "recall@5".
        score: from hit positions to one score per query.
        chance: from the queries' numbers of relevant items and the gallery's size to expected scores.
    """

    name: str
    score: Callable[[HitPositions], Floats]
    chance: Callable[[Integers, int], Floats]


def map_measure(k: int | None, denominator: Denominator) -> Measure:
    """Average precision over the whole ranking, or over its first k."""
    return Measure(
        "map" if k is None else f"map@{k}",
        lambda hits: average_precision_at(hits, k, denominator),
        lambda relevant, size: expected_average_precision(relevant, size, k, denominator),
    )


def precision_measure(k: int) -> Measure:
    """Precision among the first k."""
    return Measure(
        f"precision@{k}",
        lambda hits: precision_at(hits, k),
        lambda relevant, size: expected_precision(relevant, size, k),
    )


def recall_measure(k: int) -> Measure:
    """Recall among the first k."""
    return Measure(
        f"recall@{k}",
        lambda hits: recall_at(hits, k),
        lambda relevant, size: expected_recall(relevant, size, k),
    )


@dataclass(frozen=True)
class Gathered:
    """What one pass over all queries leaves: scores per query, relevant items per query, the mean curve."""

    scores: dict[str, Floats]
    relevant: Integers
    curve: Floats


def gather(
    chunks: Iterable[tuple[slice, HitPositions]], measures: Iterable[Measure], queries: int, points: int
) -> Gathered:
    """Score chunk after chunk, keeping a few numbers per query."""
    measured = tuple(measures)
    scores = {measure.name: np.zeros(queries) for measure in measured}
    relevant, curve = np.zeros(queries, dtype=np.int64), np.zeros(points)
    for chunk, hits in chunks:
        for measure in measured:
            scores[measure.name][chunk] = measure.score(hits)
        relevant[chunk] = hits.counts
        curve += interpolated_precision(hits, points).sum(axis=0)
    return Gathered(scores, relevant, curve / queries)
