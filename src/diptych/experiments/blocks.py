"""One method's part of a result: every direction, the average, and what was fitted, as JSON."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diptych.evaluation import DirectionScores, InstanceScores, mean_interval, seed_spread
from diptych.experiments.averaging import average_block, average_instances, instance_measures, merge_seeds
from diptych.experiments.evaluate_model import ModelScores


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
