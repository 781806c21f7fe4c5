"""Turn scores into one method's part of `results.json`: seeds and directions averaged, intervals, chance levels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diptych._core.arrays import Floats
from diptych._core.errors import DataError
from diptych.data import Dataset
from diptych.evaluation import DirectionScores, InstanceScores, average_directions, mean_interval, seed_spread
from diptych.experiments.model_scores import ModelScores
from diptych.methods.base import Method


def score_blocks(scores: Sequence[ModelScores]) -> dict[str, Any]:
    """The scores of one method under one or more seeds.

    Each direction and "average" hold means, 95% intervals ("..._ci95") and chance levels; "znorm" holds the same
    for representations z-scored over the evaluated items, "instance" the search for an item's own partner. Where a
    model has several spaces, "purpose" names that of the main scores and "instance_purpose" that of "instance".
    """
    first = scores[0]
    main = merged_directions(scores)
    normalised = {name: merge_seeds([each.normalised[name] for each in scores]) for name in first.normalised}
    blocks = _direction_blocks(main)
    blocks["average"] |= _spread(scores)
    for name, per_class in first.per_class.items():
        means = {label: float(np.mean([each.per_class[name][label] for each in scores])) for label in per_class}
        blocks[name]["per_class"] = means
    return blocks | {
        "znorm": _direction_blocks(normalised),
        "instance": _instance_blocks({name: [each.instance[name] for each in scores] for name in first.instance}),
        "purpose": first.purpose,
        "instance_purpose": first.instance_purpose,
        "relevance": first.relevance,
        "normalisation": first.normalisation,
        "notes": list(first.notes),
    }


def merged_directions(scores: Sequence[ModelScores]) -> dict[str, DirectionScores]:
    """The main scores of every direction, averaged over seeds query by query."""
    return {name: merge_seeds([each.directions[name] for each in scores]) for name in scores[0].directions}


def fit_block(params: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """What was fitted: parameters, what validation chose and why, what training saw, how long it took.

    Where labels were propagated, "propagation" says how many.
    """
    block = {
        "params": dict(params),
        "chosen": record.get("chosen", {}),
        "selection": record.get("selection", []),
        "saw": record.get("saw", ""),
        "fit_seconds": record.get("fit_seconds"),
    }
    if "propagation" in record:
        block["propagation"] = record["propagation"]
    plain: dict[str, Any] = plain_json(block)
    return plain


def plain_json(value: Any) -> Any:  # noqa: ANN401 - whatever a method wrote down
    """Make a value fit for JSON: tuples and arrays become lists, NumPy numbers plain, non-finite ones text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain_json(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(child) for child in value]
    return value if isinstance(value, str | bool | int | float | None) else str(value)


def _direction_blocks(directions: Mapping[str, DirectionScores]) -> dict[str, Any]:
    return {name: each.to_json() for name, each in directions.items()} | {"average": average_block(directions)}


def _spread(scores: Sequence[ModelScores]) -> dict[str, float | None]:
    """The standard deviation over seeds of the average MAP; None where there is only one run."""
    averages = [
        [np.mean([each.mean(measure) for each in one.directions.values()]) for one in scores]
        for measure in ("map", "map@50")
    ]
    return {
        "map_std_over_seeds": seed_spread(np.array(averages[0])[:, None]),
        "map@50_std_over_seeds": seed_spread(np.array(averages[1])[:, None]),
    }


def _instance_blocks(directions: Mapping[str, Sequence[InstanceScores]]) -> dict[str, Any]:
    if not directions:
        return {}
    blocks = {name: _instance_block(seeds) for name, seeds in directions.items()}
    return blocks | {"average": average_instances(directions)}


def _instance_block(scores: Sequence[InstanceScores]) -> dict[str, Any]:
    first = scores[0]
    block: dict[str, Any] = {}
    for name, values in instance_measures(scores).items():
        block |= {name: float(values.mean()), f"{name}_ci95": list(mean_interval(values))}
    return block | {
        "median_rank": float(np.mean([each.median_rank for each in scores])),
        "chance": {name.replace("recall@", "R@"): value for name, value in first.chance.items()},
        "queries": len(first.ranks),
        "gallery": first.gallery_size,
        "queries_without_partner": first.queries_without_partner,
    }


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


def model_block(method: Method, dataset: Dataset, scores: ModelScores) -> dict[str, Any]:
    """A fitted method's block as it stands in `results.json` under its name."""
    params = method.plain_params()
    seed = params.get("seed", method.record_["protocol"]["seed"])
    block = fit_block(params, method.record_) | {"seeds": [seed]} | score_blocks([scores])
    fitted_on = method.record_["dataset"]
    if fitted_on["fingerprint"] != dataset.fingerprint:
        block["notes"].append(f"the model was fitted on another dataset, '{fitted_on['name']}'")
    return block
