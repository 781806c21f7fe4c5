"""Pretrained encoders: their files, in packages or in a user's folder and known by their hash, and ONNX graphs."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from diptych._core.errors import ConfigError, DataError, optional_package
from diptych.data.modality import Kind
from diptych.features.contract import Block

EXTRA = "onnx"
GRAPHS = {
    "image": ("vision_model", "visual", "image_encoder", "image_model", "vision", "clip_images", "model"),
    "audio": ("audio_model", "audio_encoder", "audio", "clap_audio", "model"),
    "text": ("text_model", "textual", "text_encoder", "text", "clip_text", "model"),
}
"""What the graph of each media type is called, without `.onnx`; "model" may hold both."""

FLOATS = {"tensor(float)": "float32", "tensor(float16)": "float16"}
INTEGERS = {"tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(bool)": "bool"}
"""The types of a graph's inputs, and of the arrays it is given."""

_SUBFOLDERS = ("", "onnx")
_WEIGHTS_BESIDE = ("_data", ".data")
"""What the name of a graph whose weights are in a second file is followed by there."""


def packaged_file(package: str, name: str, extra: str) -> Path:
    """Find a file of an installed package; the package is not imported.

    Args:
        package: its name.
        name: of the file, below the package's folder.
        extra: the extra of diptych that installs the package.

    Raises:
        ConfigError: when the package, or the file in it, is missing; the message says what to type.
    """
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        raise ConfigError(f"this encoder needs {package}; install it with `pip install 'diptych[{extra}]'`.")
    path = Path(folders[0]) / name
    if not path.is_file():
        raise ConfigError(f"{package} lacks its file {path}; install it again with `pip install 'diptych[{extra}]'`.")
    return path


def file_hash(path: Path) -> str:
    """Hash a file by SHA-256; returns hexadecimal digits.

    Raises:
        DataError: when there is no such file.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}; give the path of the encoder's weights.")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_hash(path: Path, expected: str, package: str | None = None) -> None:
    """Refuse weights other than those that made the features before.

    Args:
        path: the file.
        expected: what it must hash to.
        package: the package and version to install, where the file comes in one.

    Raises:
        DataError: when the file is absent or its hash differs.
    """
    found = file_hash(path)
    if found != expected:
        remedy = f"run: pip install '{package}'" if package else "put the former file back"
        raise DataError(
            f"{path} has the hash {found[:12]}…, but these features were made with {expected[:12]}…; "
            f"{remedy}, or extract features and fit again."
        )


@dataclass(frozen=True)
class EncoderFolder:
    """The files of an exported encoder.

    Attributes:
        path: the folder.
    """

    path: Path

    @classmethod
    def at(cls, path: str) -> "EncoderFolder":
        """Open a folder.

        Raises:
            DataError: when there is none.
        """
        if not Path(path).is_dir():
            raise DataError(f"there is no folder {path}; give the folder an encoder was exported to.")
        return cls(Path(path))

    def graph(self, media_type: str) -> Path:
        """Find the graph that reads images, sounds or texts.

        Raises:
            ConfigError: when there is none; the message says what was looked for and what was found.
        """
        for name in GRAPHS[media_type]:
            for subfolder in _SUBFOLDERS:
                file = self.path / subfolder / f"{name}.onnx"
                if file.is_file():
                    return file
        wanted = ", ".join(f"{name}.onnx" for name in GRAPHS[media_type])
        raise ConfigError(f"{self.path} has no graph for {media_type} (one of {wanted}); {self.found()}.")

    def json(self, name: str) -> dict[str, Any] | None:
        """Read a JSON file; None where there is no such file.

        Raises:
            DataError: when it is no JSON object.
        """
        file = self.path / name
        if not file.is_file():
            return None
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{file} cannot be read ({error}); export the encoder again.") from None
        if not isinstance(content, dict):
            raise DataError(f"{file} holds a {type(content).__name__} where an object belongs; export it again.")
        return content

    def found(self) -> str:
        """Say what is in the folder, for errors."""
        names = sorted(file.relative_to(self.path).as_posix() for file in self.path.glob("*"))
        return f"it holds {', '.join(names[:20])}" if names else "it is empty"


def weights_beside(graph: Path) -> list[Path]:
    """Return the files beside a graph that hold its weights."""
    files = (graph.with_name(graph.name + ending) for ending in _WEIGHTS_BESIDE)
    return [file for file in files if file.is_file()]


def graph_hash(graph: Path) -> str:
    """Hash a graph together with the weights beside it."""
    hashes = [file_hash(file) for file in (graph, *weights_beside(graph))]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


@dataclass(frozen=True)
class GraphExtractor:
    """An exported encoder by path and hash, whose rows are one of its outputs.

    Attributes:
        path: where the graph lies; `dataclasses.replace(extractor, path=...)` follows a file that moved.
        sha256: what it must hash to, the weights beside it included.
        output: the name of the output.
        dimension: the length of a row.
    """

    path: str
    sha256: str
    output: str
    dimension: int

    media_type: ClassVar[str]
    kind: ClassVar[Kind] = "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block."""
        name, meaning = f"{self.media_type} encoder", f"column of the encoder's output '{self.output}'"
        return (Block(name, 0, self.dimension, meaning),)

    def open(self) -> Any:  # noqa: ANN401
        """Load the graph; see `open_graph`."""
        return open_graph(Path(self.path), self.sha256)


def describe_inputs(session: Any) -> str:  # noqa: ANN401
    """Say what a graph takes, for errors."""
    return ", ".join(f"{each.name} {each.type} {each.shape}" for each in session.get_inputs())


def open_graph(graph: Path, sha256: str) -> Any:  # noqa: ANN401
    """Load a graph once a process, on one thread: work is spread over processes.

    Raises:
        DataError: when the file is absent or another than the one that made the features before.
        ConfigError: when onnxruntime is missing or cannot read it.
    """
    stamps = [file.stat().st_mtime_ns for file in (graph, *weights_beside(graph)) if file.exists()]
    return _session(graph, sha256, tuple(stamps))


@lru_cache(maxsize=4)
def _session(graph: Path, sha256: str, _stamps: tuple[int, ...]) -> Any:  # noqa: ANN401
    """The time of the files' last change is part of the key, so that new files are checked."""
    found = graph_hash(graph)
    if found != sha256:
        raise DataError(
            f"{graph} has the hash {found[:12]}…, but these features were made with {sha256[:12]}…; put the former "
            "file back, or extract features and fit again."
        )
    return load_graph(graph, threads=1)


def load_graph(graph: Path, *, threads: int = 0) -> Any:  # noqa: ANN401
    """Load a graph; 0 threads leave their number to onnxruntime.

    Raises:
        ConfigError: when onnxruntime is missing or cannot read the file.
    """
    runtime = optional_package("onnxruntime", "this encoder", EXTRA)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    try:
        return runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if type(error).__module__.startswith("onnxruntime"):
            raise ConfigError(f"{graph} is no ONNX file that this onnxruntime reads ({error}).") from None
        raise


def choose_output(session: Any, graph: Path, wanted: str | None, preferred: Sequence[str]) -> str:  # noqa: ANN401
    """Choose the output to read: the wanted one, else the first of the preferred ones, else the only one.

    Raises:
        ConfigError: when none of them is there.
    """
    names = [output.name for output in session.get_outputs()]
    if wanted is not None and wanted not in names:
        raise ConfigError(f"{graph} has no output '{wanted}'; it has {', '.join(names)}.")
    chosen = wanted or next((name for name in preferred if name in names), names[0] if len(names) == 1 else None)
    if chosen is None:
        raise ConfigError(
            f"{graph} has the outputs {', '.join(names)}, and none of {', '.join(preferred)}; "
            "say which to read by ',output=NAME'."
        )
    return chosen
