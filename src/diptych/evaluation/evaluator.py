"""Evaluate one direction of retrieval: queries of one modality against a gallery of another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from diptych._core.arrays import Booleans, Floats, Integers
from diptych._core.errors import DataError
from diptych.data.labels import Labels
from diptych.evaluation.measures import (
    Denominator,
    average_precision_at,
    expected_average_precision,
    expected_precision,
    expected_recall,
    interpolated_precision,
    precision_at,
    recall_at,
    recall_levels,
)
from diptych.evaluation.ranking import MEMORY_BUDGET, HitPositions, hit_positions
from diptych.evaluation.similarity import Rows, Similarity, check_pair
from diptych.evaluation.statistics import RESAMPLES, average_interval, percentiles, resampled_means


@dataclass(frozen=True)
class DirectionScores:
    """The scores of one direction, query by query.

    Attributes:
        scores: one score per query by the measure's name: "map" (the average precisions), "map@50",
            "precision@1", "recall@1" and so on.
        chance: what a random ranking scores on average, by the same names.
        curve_recall: the levels of recall of the precision–recall curve.
        curve_precision: the interpolated precision there, averaged over queries.
        query_rows: which of the rows handed in were scored.
        query_ids: the names of those queries, where they were given.
        gallery_size: how many items were ranked.
        dropped_queries: queries left out because they have no label.
        dropped_gallery: gallery items left out because they have no label.
        queries_without_relevant: queries scored 0 because no gallery item shares a label with them.
        denominator: of AP@K.
        similarity: the similarity ranked by.
    """

    scores: Mapping[str, Floats]
    chance: Mapping[str, float]
    curve_recall: Floats
    curve_precision: Floats
    query_rows: Integers
    query_ids: tuple[str, ...] | None
    gallery_size: int
    dropped_queries: int
    dropped_gallery: int
    queries_without_relevant: int
    denominator: str
    similarity: str

    @property
    def queries(self) -> int:
        """How many queries were scored."""
        return len(self.query_rows)

    def mean(self, measure: str = "map") -> float:
        """Return the mean over queries of a measure."""
        return float(self.scores[measure].mean())

    def to_json(self, *, resamples: int = RESAMPLES) -> dict[str, Any]:
        """Return means, 95% bootstrap intervals over queries as "..._ci95", chance levels and counts."""
        columns = np.stack(list(self.scores.values()), axis=1)
        intervals = percentiles(resampled_means(columns, resamples=resamples))
        result: dict[str, Any] = {}
        for name, interval in zip(self.scores, intervals, strict=True):
            result |= {name: self.mean(name), f"{name}_ci95": list(interval)}
        return result | {
            "chance": dict(self.chance),
            "curve": {"recall": self.curve_recall.tolist(), "precision": self.curve_precision.tolist()},
            "queries": self.queries,
            "gallery": self.gallery_size,
            "dropped_queries": self.dropped_queries,
            "dropped_gallery": self.dropped_gallery,
            "queries_without_relevant": self.queries_without_relevant,
            "ap_denominator": self.denominator,
            "similarity": self.similarity,
        }


def average_directions(
    first: DirectionScores, second: DirectionScores, *, resamples: int = RESAMPLES
) -> dict[str, Any]:
    """Return the plain mean of two directions for each MAP, its 95% interval and its chance level.

    Where both directions were asked with the same query ids, the interval draws items for both at once.
    """
    names = [name for name in first.scores if name.startswith("map") and name in second.scores]
    result: dict[str, Any] = {}
    for name in names:
        scores, ids = (first.scores[name], second.scores[name]), (first.query_ids, second.query_ids)
        interval = average_interval(*scores, *ids, resamples=resamples)
        result |= {name: (first.mean(name) + second.mean(name)) / 2, f"{name}_ci95": list(interval)}
    return result | {"chance": {name: (first.chance[name] + second.chance[name]) / 2 for name in names}}


Score = Callable[[HitPositions], Floats]
Chance = Callable[[Integers, int], Floats]

CUTS = (50,)
RANKS = (1, 5, 10, 50)


def evaluate_direction(
    queries: Rows,
    gallery: Rows,
    query_labels: Labels,
    gallery_labels: Labels,
    *,
    query_ids: Sequence[str] | None = None,
    cuts: Sequence[int] = CUTS,
    ranks: Sequence[int] = RANKS,
    denominator: Denominator = "retrieved",
    similarity: Similarity = "cosine",
    curve_points: int = 11,
    memory_budget: int = MEMORY_BUDGET,
) -> DirectionScores:
    """Rank the gallery for every query and score the rankings; relevant is what shares a label.

    Unlabelled queries and unlabelled gallery items are left out, and how many is recorded.

    Args:
        queries: one row a query.
        gallery: one row an item, in the same space; a query's own partner stays in and is relevant.
        query_labels: the labels of the queries.
        gallery_labels: the labels of the items.
        query_ids: the name of every query, so that two directions' queries can be told to be the same items.
        cuts: the K of MAP@K, beside the MAP over the whole ranking.
        ranks: the k of precision@k and recall@k.
        denominator: of AP@K, see `average_precision_at`.
        similarity: "cosine" or "dot".
        curve_points: levels of recall of the mean precision–recall curve, usually 11 or 101.
        memory_budget: bytes for the ranking beside its inputs.
    """
    check_pair(queries, gallery, query_labels, gallery_labels)
    if query_ids is not None and len(query_ids) != len(queries):
        raise DataError(f"there are {len(queries)} queries but {len(query_ids)} query ids; give every query its id.")
    is_query, in_gallery = _labelled("queries", query_labels), _labelled("gallery items", gallery_labels)
    size, count = int(np.count_nonzero(in_gallery)), int(np.count_nonzero(is_query))
    measures = _measures(cuts, ranks, denominator)
    scores = {name: np.zeros(count) for name in measures}
    relevant, curve = np.zeros(count, dtype=np.int64), np.zeros(curve_points)
    for chunk, hits in hit_positions(
        _kept(queries, is_query),
        _kept(gallery, in_gallery),
        query_labels.take(is_query),
        gallery_labels.take(in_gallery),
        similarity=similarity,
        memory_budget=memory_budget,
    ):
        for name, (score, _) in measures.items():
            scores[name][chunk] = score(hits)
        relevant[chunk] = hits.counts
        curve += interpolated_precision(hits, curve_points).sum(axis=0)
    query_rows = np.flatnonzero(is_query)
    return DirectionScores(
        scores=scores,
        chance={name: float(chance(relevant, size).mean()) for name, (_, chance) in measures.items()},
        curve_recall=recall_levels(curve_points),
        curve_precision=curve / count,
        query_rows=query_rows,
        query_ids=None
        if query_ids is None
        else tuple(str(query_ids[row]) for row in np.flatnonzero(is_query).tolist()),
        gallery_size=size,
        dropped_queries=len(queries) - count,
        dropped_gallery=len(gallery) - size,
        queries_without_relevant=int(np.count_nonzero(relevant == 0)),
        denominator=denominator,
        similarity=similarity,
    )


def _measures(cuts: Sequence[int], ranks: Sequence[int], denominator: Denominator) -> dict[str, tuple[Score, Chance]]:
    """By the name in a result: one number per query, and what a random ranking would score."""
    found: dict[str, tuple[Score, Chance]] = {}
    for k in (None, *cuts):
        found["map" if k is None else f"map@{k}"] = (
            partial(average_precision_at, k=k, denominator=denominator),
            partial(expected_average_precision, k=k, denominator=denominator),
        )
    found |= {f"precision@{k}": (partial(precision_at, k=k), partial(expected_precision, k=k)) for k in ranks}
    return found | {f"recall@{k}": (partial(recall_at, k=k), partial(expected_recall, k=k)) for k in ranks}


def mean_average_precision(
    queries: Rows,
    gallery: Rows,
    query_labels: Labels,
    gallery_labels: Labels,
    k: int | None = None,
    denominator: Denominator = "retrieved",
    similarity: Similarity = "cosine",
    *,
    memory_budget: int = MEMORY_BUDGET,
) -> float:
    """Return MAP@K of the labelled queries against the labelled gallery items; the whole ranking when k is None."""
    scores = evaluate_direction(
        queries,
        gallery,
        query_labels,
        gallery_labels,
        cuts=() if k is None else (k,),
        ranks=(),
        denominator=denominator,
        similarity=similarity,
        memory_budget=memory_budget,
    )
    return scores.mean("map" if k is None else f"map@{k}")


def _labelled(name: str, labels: Labels) -> Booleans:
    labelled = labels.is_labelled
    if not labelled.any():
        raise DataError(f"none of the {len(labels)} {name} has a label, so nothing can be scored; label some.")
    return labelled


def _kept(rows: Rows, mask: Booleans) -> Rows:
    return rows if mask.all() else rows[mask]  # indexing copies
