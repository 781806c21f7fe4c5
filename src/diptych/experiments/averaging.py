"""Several seeds as one set of scores, and several directions as one number."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diptych.arrays import Floats
from diptych.errors import DataError
from diptych.evaluation import DirectionScores, average_directions, mean_interval

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
    ids = sorted({name for each in directions.values() for name in each.query_ids or ()})
    place = {name: position for position, name in enumerate(ids)}
    totals = np.zeros(len(ids))
    for each in directions.values():
        rows = [place[name] for name in each.query_ids or ()]
        np.add.at(totals, rows, each.scores[measure] / each.queries)
    return totals * len(ids) / len(directions)
