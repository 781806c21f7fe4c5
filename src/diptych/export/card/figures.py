"""The figures of a card: how well a model retrieves, and whether its probabilities can be believed."""

from pathlib import Path
from typing import Any

from diptych.data import Dataset
from diptych.experiments import evaluate_model, model_block
from diptych.methods import Method
from diptych.search.building import CALIBRATION_FILE
from diptych.search.calibration import read_calibration

_MEASURES = ("map", "map_ci95", "map@50", "map@50_ci95", "chance")
_COUNTS = ("queries", "gallery")


def retrieval_figures(model: Method, dataset: Dataset, split: str) -> dict[str, Any]:
    """MAP and MRR in every direction and on average, as `diptych evaluate` computes them, with the level of chance."""
    scores = evaluate_model(model, dataset, split)
    block = model_block(model, dataset, scores)
    directions = {name: _kept(block[name], _MEASURES + _COUNTS) for name in scores.directions}
    for name, found in directions.items():
        found["chance"] = _kept(block[name]["chance"], ("map", "map@50"))
        found["per_class"] = block[name].get("per_class", {})
    average = _kept(block["average"], _MEASURES)
    for name, found in (directions | {"average": average}).items():
        partner = block["instance"].get(name)
        found["mrr"] = None if partner is None else _partner(partner)
    return {
        "dataset": {"name": dataset.name, "fingerprint": dataset.fingerprint},
        "split": split,
        "relevance": block["relevance"],
        "directions": directions,
        "average": average,
        "purpose": block["purpose"],
        "instance_purpose": block["instance_purpose"],
        "notes": block["notes"],
    }


def _partner(block: dict[str, Any]) -> dict[str, Any]:
    """The mean reciprocal rank of an item's own partner."""
    name = "mean_reciprocal_rank"
    return {"value": block[name], "ci95": block[f"{name}_ci95"], "chance": block["chance"][name]}


def _kept(block: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: block[name] for name in names if name in block}


def calibration_figures(index: Path) -> dict[str, Any]:
    """By how much the probabilities of an index are off on test items, direction by direction."""
    calibration = read_calibration(index / CALIBRATION_FILE)
    directions = [
        _off_by(query, gallery, known) | ({} if each.purpose is None else {"purpose": each.purpose})
        for each in calibration.each()
        for (query, gallery), known in each.facts.items()
    ]
    return {"relevance": calibration.relevance, "directions": directions}


def _off_by(query: str, gallery: str, known: dict[str, Any]) -> dict[str, Any]:
    judged = known.get("test", {})
    return {
        "query": query,
        "gallery": gallery,
        "pairs": known["pairs"],
        "relevant_share": known["relevant_share"],
        "error_top_10": judged["top_10"]["error"] if judged else None,
        "error_all_pairs": judged["all_pairs"]["error"] if judged else None,
    }
