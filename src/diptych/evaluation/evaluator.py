"""Evaluate one direction of retrieval: queries of one modality against a gallery of another."""

from collections.abc import Sequence

import numpy as np

from diptych._core.arrays import Booleans
from diptych._core.errors import DataError
from diptych.data.labels import Labels
from diptych.evaluation.inputs import Rows, check_pair
from diptych.evaluation.measures import Denominator, recall_levels
from diptych.evaluation.ranking import MEMORY_BUDGET, hit_positions
from diptych.evaluation.scores import DirectionScores, gather, map_measure, precision_measure, recall_measure
from diptych.evaluation.similarity import Similarity

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
    asked, listed = _labelled("queries", query_labels), _labelled("gallery items", gallery_labels)
    size, count = int(np.count_nonzero(listed)), int(np.count_nonzero(asked))
    measures = [map_measure(k, denominator) for k in (None, *cuts)]
    measures += [measure(k) for measure in (precision_measure, recall_measure) for k in ranks]
    chunks = hit_positions(
        _kept(queries, asked),
        _kept(gallery, listed),
        query_labels.take(asked),
        gallery_labels.take(listed),
        similarity=similarity,
        memory_budget=memory_budget,
    )
    gathered = gather(chunks, measures, count, curve_points)
    return DirectionScores(
        scores=gathered.scores,
        chance={measure.name: float(measure.chance(gathered.relevant, size).mean()) for measure in measures},
        curve_recall=recall_levels(curve_points),
        curve_precision=gathered.curve,
        query_rows=np.flatnonzero(asked),
        query_ids=None if query_ids is None else tuple(str(query_ids[row]) for row in np.flatnonzero(asked).tolist()),
        gallery_size=size,
        dropped_queries=len(queries) - count,
        dropped_gallery=len(gallery) - size,
        queries_without_relevant=int(np.count_nonzero(gathered.relevant == 0)),
        denominator=denominator,
        similarity=similarity,
    )


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
