"""A model as `diptych export` wrote it: ONNX graphs compute its embeddings, without torch and without its own class."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import safetensors.numpy

from diptych._core.arrays import Features, Singles
from diptych._core.errors import ConfigError, DataError, FitError, optional_package
from diptych._core.files import read_json
from diptych._core.progress import Progress
from diptych._core.state import FolderFormat, unpack
from diptych.data import TrainingData
from diptych.data.dataset_files import PIPELINE_FOLDER
from diptych.evaluation import SIMILARITIES, Similarity
from diptych.features import Pipeline, check_same_pipeline
from diptych.features.pipeline import load_located_pipeline
from diptych.methods.base import Method, check_loaded
from diptych.methods.binary_codes import BinaryCodes, check_codes
from diptych.methods.purposes import Purpose

DOCUMENT, FORMAT, FORMAT_VERSION = "model.json", "diptych-exported-model", 1
_EXPORTED = FolderFormat(DOCUMENT, FORMAT, FORMAT_VERSION, "exported model", "make one with `diptych export`")
GRAPH_INPUT, GRAPH_OUTPUT = "rows", "codes"
"""What every graph calls what enters it and what leaves it."""
BINARY_GRAPH, BINARY_ARRAYS = "binary.onnx", "binary.safetensors"
"""How embeddings become binary codes, where the model has them."""


@dataclass(frozen=True)
class GraphFile:
    """One modality's graph.

    Attributes:
        file: its name in the folder.
        sha256: what it must hash to.
        width: numbers in an embedding.
    """

    file: str
    sha256: str
    width: int


@dataclass(eq=False)
class ExportedModel(Method):
    """Embeds as the model it was exported from, which its fingerprint names; it can be neither fitted nor changed.

    Attributes:
        folder: where it lies.
        method: the name of the method.
        cites: the paper that defines the method.
        params: the parameters it was fitted with; those that say where have their defaults.
        compares: how embeddings are compared.
        by_direction: whether the method compares other embeddings than those of `embed`, which only it can make.
        graphs: by modality.
        needs_torch: modalities whose raw items cannot be read without torch, and why.
        check: how far the graphs were from the model when they were written.
        exported_pipeline: the fingerprint of the pipeline beside it, whose encoders are graphs too.
        spaces_: the columns of each of its spaces; empty where it has a single one.
    """

    folder: Path
    method: str
    cites: str
    params: dict[str, Any]
    compares: Similarity
    by_direction: bool
    graphs: dict[str, GraphFile]
    needs_torch: dict[str, str]
    check: dict[str, Any]
    exported_pipeline: str | None
    record_: dict[str, Any]
    spaces_: dict[str, int] = field(default_factory=dict)
    _sessions: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def registry_name(self) -> str:  # type: ignore[override]
        """The name of the method."""
        return self.method

    @property
    def citation(self) -> str:  # type: ignore[override]
        """The paper that defines the method."""
        return self.cites

    @property
    def similarity(self) -> Similarity:  # type: ignore[override]
        """How embeddings are compared."""
        return self.compares

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters it was fitted with; those that say where have their defaults."""
        return dict(self.params)

    def set_params(self, **params: Any) -> NoReturn:  # noqa: ANN401
        """Refused: an exported model cannot be changed."""
        raise ConfigError("an exported model has no parameters to set; change those of a new fit.")

    def learned_state(self) -> NoReturn:
        """Refused: what was learned is in the graphs."""
        raise ConfigError(f"an exported model is a folder already; copy {self.folder} instead of saving it.")

    def represent(
        self,
        query_modality: str,
        gallery_modality: str,
        queries: Features,
        gallery: Features,
        purpose: Purpose = "auto",
    ) -> tuple[Singles, Singles]:
        """The embeddings of both sides; refused where the method compares something else."""
        if self.by_direction:
            raise ConfigError(
                f"this '{self.method}' model compares other embeddings in each direction, and its graphs hold those of "
                "`embed`; use the model it was exported from."
            )
        return super().represent(query_modality, gallery_modality, queries, gallery, purpose)

    @property
    def pipeline(self) -> Pipeline:
        """How raw items become rows, by the encoders' graphs."""
        if self.exported_pipeline is None or self.pipeline_folder is None:
            return super().pipeline
        return self._located_pipeline

    @cached_property
    def _located_pipeline(self) -> Pipeline:
        assert self.exported_pipeline is not None and self.pipeline_folder is not None
        pipeline, found = load_located_pipeline(self.pipeline_folder)
        check_same_pipeline(self.exported_pipeline, found, remedy=f"{self.pipeline_folder} changed, so export again")
        return pipeline

    def fit(self, *args: Any, **options: Any) -> NoReturn:  # noqa: ANN401
        """Refused: an exported model cannot be fitted."""
        raise FitError("an exported model cannot be fitted; fit its method and export again.")

    def _fit(self, data: TrainingData, progress: Progress) -> NoReturn:
        self.fit()

    def _embed(self, modality: str, rows: Features) -> Singles:
        dense = np.ascontiguousarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float32)
        if not len(dense):
            return np.empty((0, self.graphs[modality].width), dtype=np.float32)
        try:
            (embeddings,) = self._session(modality).run([GRAPH_OUTPUT], {GRAPH_INPUT: dense})
        except Exception as error:
            if not type(error).__module__.startswith("onnxruntime"):
                raise
            what = str(error).partition("\n")[0]
            raise DataError(f"the graph of '{modality}' cannot be run ({what}); export the model again.") from error
        return np.asarray(embeddings)

    def _session(self, modality: str) -> Any:  # noqa: ANN401 - of an optional package
        if modality not in self._sessions:
            self._sessions[modality] = _session(self.folder / self.graphs[modality].file, self.graphs[modality].sha256)
        return self._sessions[modality]


def is_exported(folder: str | Path) -> bool:
    """Whether a folder holds a model as `diptych export` wrote it."""
    document = Path(folder) / DOCUMENT
    body = read_json(document) if document.is_file() else None
    return isinstance(body, dict) and body.get("format") == FORMAT


def load_exported(folder: str | Path) -> ExportedModel:
    """Open an exported model; nothing in it is unpickled, and its graphs are opened when they are needed."""
    path = Path(folder)
    body = read_json(path / DOCUMENT)
    if body.get("format_version") != FORMAT_VERSION:
        raise DataError(
            f"{path / DOCUMENT} says version {body.get('format_version')!r} of {FORMAT!r}; "
            f"this diptych reads version {FORMAT_VERSION}, so export the model again."
        )
    with _EXPORTED.reading(path):
        model = ExportedModel(
            folder=path,
            method=body["method"],
            cites=body["citation"],
            params=dict(body["params"]),
            compares=body["similarity"],
            by_direction=body["by_direction"],
            graphs={name: GraphFile(**graph) for name, graph in body["graphs"].items()},
            needs_torch=dict(body["needs_torch"]),
            check=body["check"],
            exported_pipeline=body["pipeline"],
            record_=unpack(body["record"], {}),
            spaces_=dict(body.get("spaces", {})),
        )
        if body.get("binary"):
            model.codes_ = _read_codes(path / BINARY_ARRAYS, body["binary"][BINARY_ARRAYS])
        check_loaded(model)
        check_codes(model)
        _check_graphs(model)
    pipeline = path / PIPELINE_FOLDER
    model.pipeline_folder = pipeline if pipeline.is_dir() else None
    model.was_loaded = True
    return model


def exported_problems(folder: str | Path) -> list[str]:
    """Compare the graphs of an exported model with their hashes; one sentence for each that is not what was written."""
    path = Path(folder)
    found = []
    for graph in load_exported(path).graphs.values():
        try:
            intact = hashlib.sha256((path / graph.file).read_bytes()).hexdigest() == graph.sha256
        except OSError as error:
            found.append(f"{path / graph.file} cannot be read ({error.strerror}); export the model again.")
            continue
        if not intact:
            found.append(f"{path / graph.file} is not the graph that was exported; export the model again.")
    return found


def _read_codes(path: Path, sha256: str) -> BinaryCodes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); export the model again.") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"{path} is not what was exported; export the model again.")
    return BinaryCodes(**safetensors.numpy.load(content))


def _check_graphs(model: ExportedModel) -> None:
    """Refuse a document that names no graph for a modality, or one outside of its folder."""
    if model.compares not in SIMILARITIES or not isinstance(model.method, str):
        raise ValueError(f"embeddings of {model.method!r} are compared by {model.compares!r}")
    for name in model.record_["modalities"]:
        graph = model.graphs[name]
        if Path(graph.file).name != graph.file or not isinstance(graph.width, int):
            raise ValueError(f"the graph of '{name}' is {graph.file!r}")


def _session(path: Path, sha256: str) -> Any:  # noqa: ANN401
    """A graph in memory, if it is the one that was written."""
    onnxruntime = optional_package("onnxruntime", "an exported model", "onnx")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); export the model again.") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"{path} is not the graph that was exported; export the model again.")
    options = onnxruntime.SessionOptions()
    # Threads that wait by spinning take the processor from other workers between two queries.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
