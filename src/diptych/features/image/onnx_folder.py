"""An image encoder in a folder, as Optimum and open_clip export it, with its preprocessing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.encoder_files import EncoderFolder, choose_output, graph_hash, open_graph
from diptych.features.image.onnx_encoder import IMAGENET_MEAN, IMAGENET_STD, Colours, OnnxEncoder
from diptych.features.image.preprocessing import Preprocessing, read_preprocessing
from diptych.features.text.passages import unit

_OUTPUTS = ("image_embeds", "image_embedding", "image_features", "embeddings", "pooler_output")
_TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16"}
_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


@stateful
@dataclass(frozen=True)
class FolderImageExtractor:
    """A graph by path and hash, and how images enter it.

    Attributes:
        path: where the graph lies; `dataclasses.replace(extractor, path=...)` follows a file that moved.
        sha256: what it must hash to, the weights beside it included.
        preprocessing: what is done to an image.
        image_input: the name of the input that takes images.
        dtype: the type of that input.
        output: the name of the output.
        dimension: the length of a row.
    """

    path: str
    sha256: str
    preprocessing: Preprocessing
    image_input: str = field(metadata={"stored": "entrance"})
    dtype: str
    output: str
    dimension: int

    @property
    def kind(self) -> Kind:
        """Real numbers."""
        return "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block."""
        return (Block("image encoder", 0, self.dimension, f"column of the encoder's output '{self.output}'"),)

    def __call__(self, items: Sequence[ImageArray]) -> Singles:
        """One row of length one for each image, one at a time: together, last digits would differ."""
        session = open_graph(Path(self.path), self.sha256)
        rows = np.empty((len(items), self.dimension), dtype=np.float32)
        for row, item in zip(rows, items, strict=True):
            row[:] = encode_image(session, self.image_input, self.dtype, self.output, self.preprocessing(item))
        return unit(rows)


@dataclass(frozen=True)
class FolderImageEncoder:
    """An image encoder exported to a folder: rows are its embeddings at length one. Nothing is learned from items.

    Attributes:
        path: the folder.
        output: which output to read; the image embedding if not given.
    """

    path: str
    output: str | None = None

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[ImageArray], *, seed: int = 0, progress: Progress = silent) -> FolderImageExtractor:
        """Read the folder and send one black image through the graph to learn a row's length; no item is read.

        Raises:
            ConfigError: when something is missing from the folder, or does not fit; the message names it.
            DataError: when a file cannot be read.
        """
        folder = EncoderFolder.at(self.path)
        graph, preprocessing = folder.graph("image"), read_preprocessing(folder)
        sha256 = graph_hash(graph)
        session = open_graph(graph, sha256)
        image_input, dtype = _image_input(session, graph, preprocessing)
        output = choose_output(session, graph, self.output, _OUTPUTS)
        black = np.zeros((preprocessing.height, preprocessing.width, 3), dtype=np.float32)
        row = encode_image(session, image_input, dtype, output, black)
        if row.ndim != 1:
            raise ConfigError(
                f"{graph}: the output '{output}' gives {row.ndim} axes for an image; name one that gives a row, such "
                "as image_embeds, by ',output=NAME'."
            )
        return FolderImageExtractor(str(graph.resolve()), sha256, preprocessing, image_input, dtype, output, len(row))


def onnx_images(
    path: str,
    side: int | None = None,
    mean: Colours = IMAGENET_MEAN,
    std: Colours = IMAGENET_STD,
    output: str | None = None,
    batch_size: int = 1,
) -> FolderImageEncoder | OnnxEncoder:
    """Make a feature of an exported encoder: a folder says how images are prepared; for a file the parameters do."""
    if not Path(path).is_dir():
        return OnnxEncoder(path, side, mean, std, output, batch_size)
    if (side, mean, std, batch_size) != (None, IMAGENET_MEAN, IMAGENET_STD, 1):
        raise ConfigError(
            f"'onnx:{path}' is a folder, which says itself how images are prepared; leave side, mean, std and "
            "batch_size out."
        )
    return FolderImageEncoder(path, output)


def encode_image(session: Any, image_input: str, dtype: str, output: str, values: Singles) -> Singles:  # noqa: ANN401
    """Run a graph on one prepared image; a graph that reads texts too is given an empty one."""
    inputs: dict[str, Any] = {image_input: np.ascontiguousarray(values.transpose(2, 0, 1)[None], dtype=dtype)}
    for other in session.get_inputs():
        if other.name != image_input:
            shape = [axis if isinstance(axis, int) else 1 for axis in other.shape]
            inputs[other.name] = np.ones(shape, dtype=_INTEGERS[other.type])
    (rows,) = session.run([output], inputs)
    return np.asarray(rows[0], dtype=np.float32)


def _image_input(session: Any, graph: Path, preprocessing: Preprocessing) -> tuple[str, str]:  # noqa: ANN401
    """The name and the type of the input that takes images, channels first."""
    inputs = session.get_inputs()
    taking = [each for each in inputs if each.type in _TYPES and len(each.shape) == 4]
    listed = ", ".join(f"{each.name} {each.type} {each.shape}" for each in inputs)
    others = [each for each in inputs if each not in taking]
    if len(taking) != 1 or any(each.type not in _INTEGERS for each in others):
        raise ConfigError(f"{graph} should take images of four axes, and nothing but texts beside; it takes {listed}.")
    (image_input,) = taking
    wanted = (3, preprocessing.height, preprocessing.width)
    fixed = image_input.shape[1:]
    if any(isinstance(axis, int) and axis != want for axis, want in zip(fixed, wanted, strict=True)):
        raise ConfigError(
            f"{graph} takes images of shape {fixed}, but the files beside it prepare {list(wanted)}; export it again."
        )
    return image_input.name, _TYPES[image_input.type]
