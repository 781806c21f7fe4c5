"""Score a fitted method on a split of a dataset: every direction, by class and by document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from diptych._core.errors import DataError
from diptych.data import Dataset, Partition
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
from diptych.evaluation.similarity import Rows
from diptych.experiments.relevance import Judged, MeasuredSpaces, Relevance, direction_name, judge, spaces_in_words
from diptych.methods.base import Method
from diptych.methods.purposes import Purpose

_CURVE_POINTS = 21


@dataclass(frozen=True, repr=False)
class ModelScores:
    """All scores of one fitted method; the mappings are keyed by direction.

    Attributes:
        directions: the main scores, with the requested normalisation.
        normalised: the same with representations z-scored over the evaluated items.
        instance: the rank of each item's own partner; empty if no item has one.
        per_class: the MAP of the queries of each class; empty if relevance is by document.
        relevance: what counted as relevant.
        normalisation: of the main scores.
        notes: remarks for the reader.
        purpose: the space of the main scores, if the method has several.
        instance_purpose: the space in which partners were ranked, if the method has several.
    """

    directions: Mapping[str, DirectionScores]
    normalised: Mapping[str, DirectionScores]
    instance: Mapping[str, InstanceScores]
    per_class: Mapping[str, Mapping[str, float]]
    relevance: str
    normalisation: str
    notes: tuple[str, ...]
    purpose: str | None = None
    instance_purpose: str | None = None

    @property
    def average_map(self) -> float:
        """The plain mean of the directions' MAP."""
        return float(np.mean([scores.mean() for scores in self.directions.values()]))

    @property
    def average_mrr(self) -> float | None:
        """The plain mean of the directions' mean reciprocal rank of an item's own partner; None where none has one."""
        return float(np.mean([np.mean(1.0 / each.ranks) for each in self.instance.values()])) if self.instance else None

    def __repr__(self) -> str:
        parts = [f"{name} MAP {scores.mean():.3f}" for name, scores in self.directions.items()]
        partner = "" if self.average_mrr is None else f", MRR {self.average_mrr:.3f}"
        return f"ModelScores({', '.join(parts)}; average MAP {self.average_map:.3f}{partner})"


def evaluate_model(
    method: Method,
    dataset: Dataset,
    split: str = "test",
    *,
    normalisation: Normalisation = "none",
    denominator: Denominator = "retrieved",
    relevance: Relevance = "class",
    purpose: Purpose = "auto",
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
        purpose: the space to measure in, where the method has several; "auto" looks for classes in the class space and
            for an item's own partner in the partner space.
    """
    absent = [name for name in method.modalities if name not in dataset.modalities]
    if absent:
        known = ", ".join(dataset.modalities)
        raise DataError(f"the model joins '{absent[0]}', which {dataset.path} lacks; it has {known}.")
    method.check_rows_of(dataset)
    judged = judge(dataset, split, method.modalities, relevance)
    spaces = MeasuredSpaces.of(method, purpose, judged.relevance)
    main: dict[str, DirectionScores] = {}
    normalised: dict[str, DirectionScores] = {}
    instance: dict[str, InstanceScores] = {}
    for asking, searched in judged.directions:
        name = direction_name(asking, searched)
        direction = _Direction(method, dataset, judged, asking, searched)
        rows = direction.represent(spaces.main)
        sides = direction.normalise(rows, normalisation, spaces.main)
        main[name] = _score(method, judged, asking, searched, sides[0], sides[1], denominator)
        if normalisation == "eval-set":
            normalised[name] = main[name]
        else:
            whitened = [normalise(side, "eval-set") for side in rows]
            normalised[name] = _score(method, judged, asking, searched, whitened[0], whitened[1], denominator)
        documents = judged.parts[asking].documents, judged.parts[searched].documents
        if np.isin(documents[0], documents[1]).any():
            if spaces.instance != spaces.main:
                sides = direction.normalise(direction.represent(spaces.instance), normalisation, spaces.instance)
            instance[name] = evaluate_instances(
                *sides,
                documents[0].tolist(),
                documents[1].tolist(),
                query_ids=judged.parts[asking].ids.tolist(),
                similarity=method.similarity,
            )
    notes = judged.notes if instance else (*judged.notes, "no two items belong together, so no partner can be found")
    space_note = spaces_in_words(spaces.main, spaces.instance)
    per_class = {name: _per_class(judged, name, scores) for name, scores in main.items()}
    return ModelScores(
        directions=main,
        normalised=normalised,
        instance=instance,
        per_class=per_class if judged.relevance == "class" else {},
        relevance=judged.relevance,
        normalisation=normalisation,
        notes=(*notes, space_note) if space_note else notes,
        purpose=spaces.main,
        instance_purpose=spaces.instance,
    )


@dataclass(frozen=True)
class _Direction:
    """The query modality, the gallery modality, and the method."""

    method: Method
    dataset: Dataset
    judged: Judged
    asking: str
    searched: str

    def represent(self, purpose: Purpose | None) -> tuple[Rows, Rows]:
        """The judged items of both sides in a space."""
        return self._represent(self.judged.parts[self.asking], self.judged.parts[self.searched], purpose)

    def normalise(self, rows: tuple[Rows, Rows], how: Normalisation, purpose: Purpose | None) -> tuple[Rows, Rows]:
        """Both sides normalised, each by its own statistics."""
        train = self._train_statistics(purpose) if how == "train" else (None, None)
        return normalise(rows[0], how, train[0]), normalise(rows[1], how, train[1])

    def _represent(self, asking: Partition, searched: Partition, purpose: Purpose | None) -> tuple[Rows, Rows]:
        queries, gallery = asking.features(self.asking), searched.features(self.searched)
        return self.method.represent(self.asking, self.searched, queries, gallery, purpose or "auto")

    def _train_statistics(self, purpose: Purpose | None) -> tuple[ColumnStatistics, ColumnStatistics]:
        train = self.dataset.split("train")
        asking, searched = train.having(self.asking), train.having(self.searched)
        if not len(asking) or not len(searched):
            raise DataError(
                f"{self.dataset.path} has no training items with {self.asking} and {self.searched}; "
                "use --znorm eval-set."
            )
        rows = self._represent(asking, searched, purpose)
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
