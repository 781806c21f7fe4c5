"""Score a fitted method on a split of a dataset: every direction, by class and by document."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
from diptych.experiments.relevance import (
    Judgements,
    MeasuredSpaces,
    Relevance,
    direction_name,
    relevance_judgements,
    spaces_in_words,
)
from diptych.methods.base import Method
from diptych.methods.purposes import Purpose

_CURVE_POINTS = 21
_NO_PARTNERS = "no two items belong together, so no partner can be found"
Sides = tuple[Rows, Rows]


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
    judgements = relevance_judgements(dataset, split, method.modalities, relevance)
    spaces = MeasuredSpaces.of(method, purpose, judgements.relevance)
    main: dict[str, DirectionScores] = {}
    normalised: dict[str, DirectionScores] = {}
    instance: dict[str, InstanceScores] = {}
    for a, b in judgements.directions:
        name = direction_name(a, b)
        direction = _Direction(method, (a, b), judgements.parts[a], judgements.parts[b])
        rows = direction.embed(spaces.main)
        sides = direction.normalise(rows, normalisation, dataset, spaces.main)
        main[name] = direction.score(sides, denominator)
        if normalisation == "eval-set":
            normalised[name] = main[name]
        else:
            normalised[name] = direction.score(
                (normalise(rows[0], "eval-set"), normalise(rows[1], "eval-set")), denominator
            )
        documents = direction.queries.documents, direction.gallery.documents
        if np.isin(*documents).any():
            if spaces.instance != spaces.main:
                rows = direction.embed(spaces.instance)
                sides = direction.normalise(rows, normalisation, dataset, spaces.instance)
            instance[name] = evaluate_instances(
                *sides,
                documents[0].tolist(),
                documents[1].tolist(),
                query_ids=direction.queries.ids.tolist(),
                similarity=method.similarity,
            )
    notes = judgements.notes if instance else (*judgements.notes, _NO_PARTNERS)
    space_note = spaces_in_words(spaces.main, spaces.instance)
    per_class = {name: _per_class(judgements, name, scores) for name, scores in main.items()}
    return ModelScores(
        directions=main,
        normalised=normalised,
        instance=instance,
        per_class=per_class if judgements.relevance == "class" else {},
        relevance=judgements.relevance,
        normalisation=normalisation,
        notes=(*notes, space_note) if space_note else notes,
        purpose=spaces.main,
        instance_purpose=spaces.instance,
    )


@dataclass(frozen=True)
class _Direction:
    """The query modality and the gallery modality, the items of each, and the method that embeds them."""

    method: Method
    modalities: tuple[str, str]
    queries: Partition
    gallery: Partition

    def embed(self, purpose: Purpose | None) -> Sides:
        """The embeddings of both sides in a space."""
        rows = [part.features(name) for part, name in zip((self.queries, self.gallery), self.modalities, strict=True)]
        return self.method.represent(*self.modalities, rows[0], rows[1], purpose or "auto")

    def normalise(self, rows: Sides, how: Normalisation, dataset: Dataset, purpose: Purpose | None) -> Sides:
        """Both sides normalised, each by its own statistics."""
        if how != "train":
            return normalise(rows[0], how), normalise(rows[1], how)
        queries, gallery = (dataset.split("train").having(name) for name in self.modalities)
        if not len(queries) or not len(gallery):
            raise DataError(
                f"{dataset.path} has no training items with {' and '.join(self.modalities)}; use --znorm eval-set."
            )
        first, second = map(ColumnStatistics.of, replace(self, queries=queries, gallery=gallery).embed(purpose))
        return normalise(rows[0], how, first), normalise(rows[1], how, second)

    def score(self, sides: Sides, denominator: Denominator) -> DirectionScores:
        """Rank the gallery by the similarity of embeddings."""
        return evaluate_direction(
            *sides,
            self.queries.labels,
            self.gallery.labels,
            query_ids=self.queries.ids.tolist(),
            denominator=denominator,
            similarity=self.method.similarity,
            curve_points=_CURVE_POINTS,
        )


def _per_class(judgements: Judgements, direction: str, scores: DirectionScores) -> dict[str, float]:
    """The mean AP of the queries that carry each class; a class nobody asks with is left out."""
    labels = judgements.parts[direction.split("->")[0]].labels.take(scores.query_rows)
    totals = labels.matrix.astype(np.float64).T @ scores.scores["map"]
    counts = labels.class_counts()
    return {name: float(totals[c] / counts[c]) for c, name in enumerate(labels.classes) if counts[c]}
