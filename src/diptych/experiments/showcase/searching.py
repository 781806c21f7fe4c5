"""Search a dataset's items with a fitted model: every item is compared, by the cosine of codes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diptych.arrays import Features
from diptych.data import Dataset
from diptych.evaluation.similarity import unit_rows
from diptych.experiments.evaluate_model import evaluate_model
from diptych.methods.base import Method


@dataclass(frozen=True)
class Hit:
    """An item that was found.

    Attributes:
        item: its position in the dataset.
        score: the cosine of its code to the query's.
    """

    item: int
    score: float


def search(
    model: Method, dataset: Dataset, source: str, target: str, queries: Features, top: int | None = None
) -> list[list[Hit]]:
    """Rank the items that have a modality for queries of another, the most alike first.

    Args:
        model: a fitted method.
        dataset: what to search, all of its splits.
        source: the queries' modality.
        target: the modality of what is searched.
        queries: rows of features, as the dataset or `model.pipeline.describe` gives them.
        top: how many hits to return for each; None for all. Equal ones come in the dataset's order.
    """
    gallery = dataset.everything.having(target)
    asked, offered = model.represent(source, target, queries, gallery.features(target))
    scores = unit_rows(asked) @ unit_rows(offered).T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    return [
        [Hit(int(gallery.index[place]), float(row[place])) for place in best]
        for row, best in zip(scores, order, strict=True)
    ]


def best_searcher(models: Mapping[str, Method], dataset: Dataset) -> str:
    """The model that, on validation, brings an item's own partner nearest to the top (by mean reciprocal rank).

    A method that knows classes and nothing finer can rank classes best of all and still be useless to someone who
    looks for one thing; so this, and not the average precision of classes, decides who searches.
    """

    def nearness(name: str) -> float:
        instance = evaluate_model(models[name], dataset, "val").instance
        return float(np.mean([scores.mean_reciprocal_rank for scores in instance.values()]))

    return max(models, key=nearness)
