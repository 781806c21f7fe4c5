"""The content of a model card: facts about the model, and how well it retrieves."""

from pathlib import Path
from typing import Any

from diptych._core.errors import DataError
from diptych._core.files import read_json
from diptych.data import Dataset, Protocol
from diptych.experiments import evaluate_model, model_block
from diptych.experiments.score_blocks import plain_json
from diptych.export.card_page import limits
from diptych.export.pipeline_export import OF_THE_MACHINE, without_folders
from diptych.index import EngineLocation
from diptych.methods import Method, entry, load_model, model_fingerprint, names
from diptych.methods.exported import DOCUMENT, ExportedModel
from diptych.search.entries import describe_dataset
from diptych.search.index_folder import CALIBRATION_FILE, MODEL_FOLDER, Description
from diptych.search.probability.calibration import read_calibration

_MEASURES = ("map", "map_ci95", "map@50", "map@50_ci95", "chance")
_COUNTS = ("queries", "gallery")


def retrieval_figures(model: Method, dataset: Dataset, split: str) -> dict[str, Any]:
    """Return MAP and MRR in every direction and on average, as `diptych evaluate` does, with the chance level."""
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
    """Return by how much the probabilities of an index are off on test items, direction by direction."""
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


def model_card(
    model_folder: str | Path, *, dataset: Dataset | None = None, split: str = "test", index: str | Path | None = None
) -> dict[str, Any]:
    """Gather what is known of a saved or exported model; what is not known is None.

    Args:
        model_folder: the model.
        dataset: to count and to score it on.
        split: the items of the dataset to score.
        index: one built with this model, for the figures of its probabilities.

    Raises:
        DataError: when the index was built with another model, or the dataset's rows by another pipeline.
    """
    folder = Path(model_folder)
    model, fingerprint = load_model(folder), model_fingerprint(folder)
    written = read_json(folder / DOCUMENT)
    about = None if index is None else _indexed(Path(index), folder, fingerprint)
    card: dict[str, Any] = {
        "model": _model(model, fingerprint),
        "parameters": _parameters(model),
        "data": _data(model, dataset, about),
        "protocol": _protocol(model),
        "figures": None if dataset is None else retrieval_figures(model, dataset, split),
        "calibration": None if index is None else calibration_figures(Path(index)),
        "export": _export(model, written),
        "versions": written["versions"],
    }
    content: dict[str, Any] = plain_json(card | {"limits": limits(card)})
    return content


def _model(model: Method, fingerprint: str) -> dict[str, Any]:
    name = model.registry_name
    return {
        "method": name,
        "summary": entry(name).summary if name in names() else None,
        "citation": model.citation or None,
        "fingerprint": fingerprint,
        "similarity": model.similarity,
        "spaces": model.spaces,
        "modalities": model.record_["modalities"],
        "fit_seconds": model.record_.get("fit_seconds"),
    }


def _parameters(model: Method) -> dict[str, Any]:
    record = model.record_
    scores = [trial["score"] for trial in record.get("selection", [])]
    return {
        "given": {name: value for name, value in model.plain_params().items() if name not in OF_THE_MACHINE},
        "chosen": record.get("chosen", {}),
        "trials": len(scores),
        "validation_map": max(scores) if scores else None,
        "note": record.get("selection_note"),
    }


def _data(model: Method, dataset: Dataset | None, about: Description | None) -> dict[str, Any]:
    """The dataset it was fitted on; sizes where the dataset given, or the one indexed, is that one."""
    fitted_on, record = model.record_["dataset"], model.record_
    same = dataset is not None and dataset.fingerprint == fitted_on["fingerprint"]
    if dataset is not None and same:
        about = describe_dataset(dataset, model.modalities, dataset.path, EngineLocation())
    known = about is not None and about.dataset["fingerprint"] == fitted_on["fingerprint"]
    return {
        **fitted_on,
        "classes": record["classes"],
        "splits": about.splits if about is not None and known else None,
        "labelled": _labelled(dataset) if dataset is not None and same else None,
        "pipeline": record.get("pipeline"),
        "features": _features(model),
        "attribution": about.attribution.strip() or None if about is not None and known else None,
    }


def _labelled(dataset: Dataset) -> dict[str, int]:
    return {name: int(dataset.split(name).labels.is_labelled.sum()) for name in ("train", "val", "test")}


def _features(model: Method) -> dict[str, dict[str, str]] | None:
    """How raw items become rows, as the user wrote it; of an encoder's file the name alone."""
    if model.pipeline_folder is None:
        return None
    written = read_json(model.pipeline_folder / "pipeline.json")["modalities"]
    return {name: part | {"features": without_folders(part["features"])} for name, part in written.items()}


def _protocol(model: Method) -> dict[str, Any]:
    protocol = Protocol(**model.record_["protocol"])
    return {"saw": model.record_["saw"], "might_see": protocol.describe(), **protocol.to_json()}


def _export(model: Method, written: dict[str, Any]) -> dict[str, Any] | None:
    if not isinstance(model, ExportedModel):
        return None
    differences = {name: check["difference"] for name, check in model.check["codes"].items()}
    return {
        "largest_difference": differences,
        "needs_torch": model.needs_torch,
        "by_direction": model.by_direction,
        "versions": written["exported_with"],
    }


def _indexed(index: Path, model_folder: Path, fingerprint: str) -> Description:
    """The description of an index, if it was built with this model."""
    about = Description.read(index)
    theirs = model_fingerprint(index / MODEL_FOLDER)
    if theirs != fingerprint:
        raise DataError(
            f"{index} was built with model {theirs}, and {model_folder} is {fingerprint}; give the index of this model."
        )
    return about
