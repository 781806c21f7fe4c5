"""Export a model as ONNX graphs that run without torch, and describe it on a model card.

There is one graph per modality, scaling included, checked against the model before it may be used.
"""

import hashlib
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError
from diptych._core.files import atomic_folder, read_json, refuse_existing, write_json
from diptych._core.progress import Progress, silent
from diptych._core.state import pack, to_weights, versions
from diptych.data import Dataset
from diptych.data.dataset_files import PIPELINE_FOLDER
from diptych.export.card import model_card
from diptych.export.card_page import render_card
from diptych.export.graph import Traced, trace_method, trace_steps
from diptych.export.onnx_files import (
    Check,
    check_rows,
    moved_rows,
    onnx_library,
    real_rows,
    to_onnx,
)
from diptych.export.pipeline_export import EncoderExport, export_pipeline, params_anywhere
from diptych.methods import Method, load_model, model_fingerprint
from diptych.methods.exported import (
    BINARY_ARRAYS,
    BINARY_GRAPH,
    DOCUMENT,
    FORMAT,
    FORMAT_VERSION,
    ExportedModel,
    GraphFile,
    is_exported,
    load_exported,
)
from diptych.search.spaces import compares_embeddings, whole_purpose

__all__ = ["Check", "Exported", "export_model", "model_card", "render_card"]

_COMPARED = 8


@dataclass(frozen=True)
class Exported:
    """What was exported.

    Attributes:
        folder: where it lies.
        graphs: by modality.
        sizes: bytes of each modality's graph.
        checks: how far each modality's graph is from the model.
        encoders: the same for encoders of raw items that became graphs.
        needs_torch: modalities whose raw items still need torch, and why.
        by_direction: whether the method compares other embeddings than those exported.
    """

    folder: Path
    graphs: dict[str, GraphFile]
    sizes: dict[str, int]
    checks: dict[str, Check]
    encoders: dict[str, Check] = field(default_factory=dict)
    needs_torch: dict[str, str] = field(default_factory=dict)
    by_direction: bool = False

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return asdict(self) | {"folder": str(self.folder)}


def export_model(
    model_folder: str | Path,
    out: str | Path,
    *,
    dataset: Dataset | None = None,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Exported:
    """Write a model as a folder of ONNX graphs that `load_model` opens without torch, whole or not at all.

    Args:
        model_folder: a saved model.
        out: the folder to make.
        dataset: real rows to check on, beside drawn ones; the one it was fitted on is the natural choice.
        overwrite: replace an exported model that is there.
        progress: called with the progress.

    Raises:
        ConfigError: when the method has no graph; the message says why.
        DataError: when a graph differs from the model by more than 1e-5, or the folder holds something else.
    """
    onnx_library()
    target = Path(out)
    _check_target(target, Path(model_folder), overwrite=overwrite)
    model = load_model(model_folder)
    if isinstance(model, ExportedModel):
        raise ConfigError(f"{model_folder} is an exported model already; copy the folder.")
    if dataset is not None:
        model.check_rows_of(dataset)
    rows, real = _rows(model, dataset)
    with atomic_folder(target, overwrite=overwrite) as folder:
        graphs = _write_graphs(model, rows, folder, progress)
        encoders = _write_pipeline(model, folder, progress)
        by_direction = _compares_by_direction(model, rows)
        body = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "method": model.registry_name,
            "citation": model.citation,
            "params": params_anywhere(model),
            "fingerprint": model_fingerprint(model_folder),
            "similarity": model.similarity,
            "by_direction": by_direction,
            "spaces": model.spaces,
            "graphs": {name: asdict(graph) for name, graph in graphs.items()},
            "binary": _write_codes(model, folder),
            "pipeline": encoders.fingerprint,
            "needs_torch": encoders.needs_torch,
            "record": pack(model.record_)[0],
            "versions": read_json(Path(model_folder) / DOCUMENT)["versions"],
            "exported_with": versions() | {name: version(name) for name in ("onnx", "onnxruntime")},
            "check": {},
        }
        write_json(folder / DOCUMENT, body)
        checks = _check_written(model, folder, rows, real, progress)
        found = {"codes": checks, "encoders": encoders.checks}
        body["check"] = {part: {name: asdict(check) for name, check in of.items()} for part, of in found.items()}
        write_json(folder / DOCUMENT, body)
        sizes = {name: (folder / graph.file).stat().st_size for name, graph in graphs.items()}
    return Exported(target, graphs, sizes, checks, encoders.checks, encoders.needs_torch, by_direction)


def _check_target(out: Path, model: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is in use, before any work is done; only an export may be overwritten."""
    refuse_existing(out, overwrite=overwrite)
    if out.exists() and model.resolve().is_relative_to(out.resolve()):
        raise DataError(f"{out} holds the model that is exported, so it is not overwritten; choose another folder.")
    refuse_existing(out, overwrite=overwrite, only=(DOCUMENT, "a model"))
    if (out / DOCUMENT).is_file() and not is_exported(out):
        raise DataError(f"{out} holds a model that is no export, so it is not overwritten; choose another folder.")


def _rows(model: Method, dataset: Dataset | None) -> tuple[dict[str, Singles], dict[str, int]]:
    """The rows to check on, by modality, and how many of them, at the end, are real."""
    rows, real = {}, {}
    for name, known in model.record_["modalities"].items():
        blocks = [check_rows(known["kind"], known["dimension"])]
        if dataset is not None and name in dataset.modalities:
            blocks.append(real_rows(dataset, name))
        rows[name], real[name] = np.concatenate(blocks), sum(map(len, blocks[1:]))
    return rows, real


def _compares_by_direction(model: Method, rows: dict[str, Singles]) -> bool:
    """Whether the method compares other embeddings in each direction than those of `embed`, which no graph computes."""
    few = {name: values[-_COMPARED:] for name, values in rows.items()}
    return not all(compares_embeddings(model, one, other, few[one], few[other]) for one, other in permutations(few, 2))


def _write_graphs(model: Method, rows: dict[str, Singles], folder: Path, progress: Progress) -> dict[str, GraphFile]:
    graphs = {}
    for done, (name, values) in enumerate(rows.items()):
        progress("writing graphs", done, len(rows))
        width = model.embed(name, values[:1], whole_purpose(model)).shape[1]
        description = f"embeddings of {name} rows by {model.registry_name} of diptych"
        content = to_onnx(trace_method(model, name), values.shape[1], width, description)
        (folder / f"{name}.onnx").write_bytes(content)
        graphs[name] = GraphFile(f"{name}.onnx", hashlib.sha256(content).hexdigest(), width)
    return graphs


def _write_codes(model: Method, folder: Path) -> dict[str, Any] | None:
    """Write how embeddings become binary codes: as a graph for any runtime, and as arrays for an index."""
    if not model.bits:
        return None
    traced = trace_steps((model.codes_,), Traced.rows())
    width = len(model.codes_.centre)
    contents = {
        BINARY_GRAPH: to_onnx(traced, width, model.bits, f"binary codes of embeddings by {model.registry_name}"),
        BINARY_ARRAYS: to_weights(asdict(model.codes_)),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def _write_pipeline(model: Method, folder: Path, progress: Progress) -> EncoderExport:
    if model.pipeline_folder is None:
        return EncoderExport()
    return export_pipeline(model.pipeline, folder / PIPELINE_FOLDER, progress)


def _check_written(
    model: Method, folder: Path, rows: dict[str, Singles], real: dict[str, int], progress: Progress
) -> dict[str, Check]:
    """Open what was written and compare it with the model."""
    exported, checks, whole = load_exported(folder), dict[str, Check](), whole_purpose(model)
    for done, (name, values) in enumerate(rows.items(), start=1):
        again = [model.embed(name, moved, whole) for moved in moved_rows(values)]
        expected = model.embed(name, values, whole)
        checks[name] = Check.of(exported.embed(name, values, whole), expected, again=again, real=real[name])
        checks[name].require(f"'{name}'", "the model")
        progress("checking graphs", done, len(rows))
    return checks
