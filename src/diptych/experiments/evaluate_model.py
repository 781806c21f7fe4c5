"""Score a fitted method on a split of a dataset: every direction, by class and by document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diptych.arrays import Singles
from diptych.data import Dataset
from diptych.errors import DataError
from diptych.evaluation import (
    ColumnStatistics,
    Denominator,
    DirectionScores,
    InstanceScores,
    Normalisation,
    evaluate_direction,
    evaluate_instances,
    normalise,
)
from diptych.experiments.judging import Judged, Relevance, direction_name, judge
from diptych.methods.base import Method

_CURVE_POINTS = 21


@dataclass(frozen=True)
class ModelScores:
    """All that one fitted method scored; each mapping goes from the direction's name.

    Attributes:
        directions: the main scores, under the normalisation asked for.
        normalised: the same with representations z-scored over the evaluated items.
        instance: where each item's own partner stands; empty when no item has one.
        per_class: the MAP of the queries of each class; empty when relevance is by document.
        relevance: what counted as relevant.
        normalisation: of the main scores.
        notes: what a reader should know.
    """

    directions: Mapping[str, DirectionScores]
    normalised: Mapping[str, DirectionScores]
    instance: Mapping[str, InstanceScores]
    per_class: Mapping[str, Mapping[str, float]]
    relevance: str
    normalisation: str
    notes: tuple[str, ...]

    @property
    def average_map(self) -> float:
        """The plain mean of the directions' MAP."""
        return float(np.mean([scores.mean() for scores in self.directions.values()]))


def evaluate_model(
    method: Method,
    dataset: Dataset,
    split: str = "test",
    *,
    normalisation: Normalisation = "none",
    denominator: Denominator = "retrieved",
    relevance: Relevance = "class",
) -> ModelScores:
    """Score every ordered pair of the method's modalities on the items of a split.

    Args:
        method: a fitted method.
        dataset: need not be the one it was fitted on, but must have the same features, made by the same pipeline.
        split: which items ask and are searched.
        normalisation: "eval-set" z-scores each modality's representations over the split, "train" with the
            training items' statistics, "none" leaves them.
        denominator: of AP@50.
        relevance: "class" (sharing a label) or "document" (belonging together).
    """
    absent = [name for name in method.modalities if name not in dataset.modalities]
    if absent:
        known = ", ".join(dataset.modalities)
        raise DataError(f"the model joins '{absent[0]}', which {dataset.path} lacks; it has {known}.")
    method.check_rows_of(dataset)
    judged = judge(dataset, split, method.modalities, relevance)
    main: dict[str, DirectionScores] = {}
    normalised: dict[str, DirectionScores] = {}
    instance: dict[str, InstanceScores] = {}
    for asking, searched in judged.directions:
        name = direction_name(asking, searched)
        rows = _represent(method, judged, asking, searched)
        train = _train_statistics(method, dataset, asking, searched) if normalisation == "train" else (None, None)
        sides = [normalise(side, normalisation, of) for side, of in zip(rows, train, strict=True)]
        main[name] = _score(method, judged, asking, searched, sides[0], sides[1], denominator)
        if normalisation == "eval-set":
            normalised[name] = main[name]
        else:
            whitened = [normalise(side, "eval-set") for side in rows]
            normalised[name] = _score(method, judged, asking, searched, whitened[0], whitened[1], denominator)
        documents = judged.parts[asking].documents, judged.parts[searched].documents
        if np.isin(documents[0], documents[1]).any():
            instance[name] = evaluate_instances(
                sides[0], sides[1], documents[0].tolist(), documents[1].tolist(), similarity=method.similarity
            )
    notes = judged.notes if instance else (*judged.notes, "no two items belong together, so no partner can be found")
    per_class = {name: _per_class(judged, name, scores) for name, scores in main.items()}
    return ModelScores(
        directions=main,
        normalised=normalised,
        instance=instance,
        per_class=per_class if judged.relevance == "class" else {},
        relevance=judged.relevance,
        normalisation=normalisation,
        notes=notes,
    )


def _represent(method: Method, judged: Judged, asking: str, searched: str) -> tuple[Singles, Singles]:
    queries, gallery = judged.parts[asking].features(asking), judged.parts[searched].features(searched)
    return method.represent(asking, searched, queries, gallery)


def _train_statistics(
    method: Method, dataset: Dataset, asking: str, searched: str
) -> tuple[ColumnStatistics, ColumnStatistics]:
    train = dataset.split("train")
    queries, gallery = (train.having(name).features(name) for name in (asking, searched))
    if not queries.shape[0] or not gallery.shape[0]:
        raise DataError(f"{dataset.path} has no training items with {asking} and {searched}; use --znorm eval-set.")
    rows = method.represent(asking, searched, queries, gallery)
    return ColumnStatistics.of(rows[0]), ColumnStatistics.of(rows[1])


def _score(
    method: Method,
    judged: Judged,
    asking: str,
    searched: str,
    queries: Any,  # noqa: ANN401 - a table of any float width
    gallery: Any,  # noqa: ANN401
    denominator: Denominator,
) -> DirectionScores:
    part = judged.parts[asking]
    return evaluate_direction(
        queries,
        gallery,
        part.labels,
        judged.parts[searched].labels,
        query_ids=part.ids.tolist(),
        denominator=denominator,
        similarity=method.similarity,
        curve_points=_CURVE_POINTS,
    )


def _per_class(judged: Judged, direction: str, scores: DirectionScores) -> dict[str, float]:
    """The mean AP of the queries that carry each class; a class nobody asks with is left out."""
    labels = judged.parts[direction.split("->")[0]].labels.take(scores.query_rows)
    totals = labels.matrix.astype(np.float64).T @ scores.scores["map"]
    counts = labels.class_counts()
    return {name: float(totals[c] / counts[c]) for c, name in enumerate(labels.classes) if counts[c]}
