"""Which of several models to search with."""

from collections.abc import Mapping

import numpy as np

from diptych.data import Dataset
from diptych.experiments.evaluate_model import evaluate_model
from diptych.methods.base import Method


def best_searcher(models: Mapping[str, Method], dataset: Dataset) -> str:
    """The model that, on validation, brings an item's own partner nearest to the top (by mean reciprocal rank).

    A method that knows classes and nothing finer can rank classes best of all and still be useless to someone who
    looks for one thing; so this, and not the average precision of classes, decides who searches.
    """

    def nearness(name: str) -> float:
        instance = evaluate_model(models[name], dataset, "val").instance
        return float(np.mean([scores.mean_reciprocal_rank for scores in instance.values()]))

    return max(models, key=nearness)
