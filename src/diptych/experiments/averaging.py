"""Several seeds as one set of scores, and several directions as one number."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diptych._core.arrays import Floats
from diptych._core.errors import DataError
from diptych.evaluation import DirectionScores, InstanceScores, average_directions, mean_interval

_AVERAGED = ("map", "map@50")


def merge_seeds(scores: Sequence[DirectionScores]) -> DirectionScores:
    """One direction's scores with each query's score averaged over seeds, so that intervals speak of queries only."""
    first = scores[0]
    if any(each.query_ids != first.query_ids for each in scores):
        raise DataError("the seeds of one method were scored on different queries; start again with --fresh.")
    return replace(
        first,
        scores={name: np.mean([each.scores[name] for each in scores], axis=0) for name in first.scores},
        curve_precision=np.mean([each.curve_precision for each in scores], axis=0),
    )


def average_block(directions: Mapping[str, DirectionScores]) -> dict[str, Any]:
    """The plain mean over directions of every MAP, with its 95% interval and chance level."""
    scores = list(directions.values())
    if len(scores) == 2:
        return average_directions(scores[0], scores[1])
    block: dict[str, Any] = {}
    for name in _AVERAGED:
        block[name] = float(np.mean([each.mean(name) for each in scores]))
        block[f"{name}_ci95"] = list(mean_interval(item_scores(directions, name)))
    return block | {"chance": {name: float(np.mean([each.chance[name] for each in scores])) for name in _AVERAGED}}


def item_scores(directions: Mapping[str, DirectionScores], measure: str = "map") -> Floats:
    """One number per item whose mean is the average over directions of the measure.

    An item that asks in direction d with n_d queries adds its score over n_d; with D directions and N items
    the number of item i is N/D Σ_d s_d(i)/n_d. Where every item asks in every direction, this is the plain mean
    of its scores. Items are in the order of their ids, so that two methods' numbers can be compared item by item.
    """
    return _by_item([(each.query_ids or (), each.scores[measure]) for each in directions.values()])


def average_instances(directions: Mapping[str, Sequence[InstanceScores]]) -> dict[str, Any]:
    """The plain mean over directions of every measure of partners, with 95% intervals and chance levels.

    Args:
        directions: the scores of every seed, by direction.
    """
    block: dict[str, Any] = {}
    for name in instance_measures(next(iter(directions.values()))):
        parts = [
            (seeds[0].query_ids or tuple(f"{at} {row}" for row in seeds[0].query_rows), instance_measures(seeds)[name])
            for at, seeds in directions.items()
        ]
        items = _by_item(parts)
        block |= {name: float(items.mean()), f"{name}_ci95": list(mean_interval(items))}
    levels = [seeds[0].chance for seeds in directions.values()]
    chance = {
        name: float(np.mean([level[_chance_name(name)] for level in levels])) for name in block if "_ci" not in name
    }
    return block | {"chance": chance}


def instance_measures(seeds: Sequence[InstanceScores]) -> dict[str, Floats]:
    """R@k and the reciprocal rank of every query, averaged over seeds."""
    ranks = np.array([each.ranks for each in seeds])
    found = {f"R@{k}": np.mean(ranks <= k, axis=0) for k in seeds[0].recall_ranks}
    return found | {"mean_reciprocal_rank": np.mean(1.0 / ranks, axis=0)}


def _chance_name(measure: str) -> str:
    return measure.replace("R@", "recall@")


def _by_item(parts: Sequence[tuple[Sequence[str], Floats]]) -> Floats:
    """One number per item from the ids and scores of the queries of every direction: see `item_scores`."""
    ids = sorted({name for names, _ in parts for name in names})
    place = {name: position for position, name in enumerate(ids)}
    totals = np.zeros(len(ids))
    for names, scores in parts:
        np.add.at(totals, [place[name] for name in names], scores / len(scores))
    return totals * len(ids) / len(parts)
