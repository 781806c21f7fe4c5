"""Image encoders in ONNX: a file, whose graph says what it takes, or a folder as Optimum and open_clip export it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.encoder_files import (
    FLOATS,
    INTEGERS,
    EncoderFolder,
    GraphExtractor,
    check_hash,
    choose_output,
    describe_inputs,
    file_hash,
    graph_hash,
    load_graph,
    open_graph,
)
from diptych.features.image.preprocessing import (
    Layout,
    PictureInput,
    Preprocessing,
    batches,
    read_image_input,
    read_preprocessing,
)
from diptych.features.text.passages import unit

Colours = tuple[float, float, float]
IMAGENET_MEAN: Colours = (0.485, 0.456, 0.406)
IMAGENET_STD: Colours = (0.229, 0.224, 0.225)


def as_rows(output: NDArray[Any], layout: Layout) -> Singles:
    """Turn an output into one row an image: as it is, or for maps (four axes) the mean over the image.

    Raises:
        ConfigError: for any other number of axes.
    """
    if output.ndim == 4:
        output = output.mean(axis=(2, 3) if layout == "channels first" else (1, 2), dtype=np.float32)
    if output.ndim != 2:
        raise ConfigError(f"the encoder's output has {output.ndim} axes; name an output with 2 (rows) or 4 (maps).")
    return cast(Singles, output.astype(np.float32))


@stateful
@dataclass(frozen=True)
class OnnxExtractor(GraphExtractor):
    """An encoder's file, and how images enter it.

    Attributes:
        image_input: name, layout and size of the graph's input.
        mean: subtracted from each colour in [0, 1].
        std: what each colour is then divided by.
        batch_size: images that pass through at once, where the graph leaves it open.
    """

    image_input: PictureInput = field(metadata={"stored": "entrance"})
    mean: Colours
    std: Colours
    batch_size: int

    media_type: ClassVar[str] = "image"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block under the name of the file."""
        return (replace(super().blocks[0], name=Path(self.path).stem),)

    def __call__(self, items: Sequence[ImageArray]) -> Singles:
        """One row for each image."""
        path, image_input = Path(self.path), self.image_input
        session = _session(path, self.sha256, path.stat().st_mtime_ns if path.exists() else 0)
        scale, shift = 1 / (255 * np.array(self.std)), np.array(self.mean) / np.array(self.std)
        rows = [np.empty((0, self.dimension), dtype=np.float32)]
        for batch in batches(items, image_input.batch or self.batch_size, image_input.height, image_input.width):
            signal = image_input.arrange((batch * scale - shift).astype(np.float32))
            (output,) = session.run([self.output], {image_input.name: signal})
            rows.append(as_rows(output, image_input.layout)[: len(batch)])
        return np.concatenate(rows)


@dataclass(frozen=True)
class OnnxEncoder:
    """An encoder that somebody trained and exported; nothing is learned from the items.

    Images are resized to what the graph takes and become (rgb/255 − mean) / std. An output of four axes is averaged
    over the image.

    Attributes:
        path: the ONNX file.
        side: height and width of the images, needed only where the graph leaves them open; 224 if not given.
        mean: of each colour; ImageNet's unless the encoder says otherwise.
        std: of each colour.
        output: which output to read, the first if not given.
        batch_size: images that pass through at once; with more than one, a row's last digits may depend on how many
            they are.
    """

    path: str
    side: int | None = None
    mean: Colours = IMAGENET_MEAN
    std: Colours = IMAGENET_STD
    output: str | None = None
    batch_size: int = 1

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[ImageArray], *, seed: int = 0, progress: Progress = silent) -> OnnxExtractor:
        """Read the graph and send one black image through it to learn a row's length; no item is read.

        Raises:
            ConfigError: when the graph does not take images, or an option does not fit it.
            DataError: when there is no such file.
        """
        if min(self.std) <= 0:
            raise ConfigError(f"std is {self.std}; each must be above 0.")
        path = Path(self.path)
        sha256 = file_hash(path)
        session = _session(path, sha256, path.stat().st_mtime_ns)
        image_input = read_image_input(session, self.side)
        output = choose_output(session, path, self.output, [session.get_outputs()[0].name])
        black = image_input.arrange(np.zeros((1, image_input.height, image_input.width, 3), dtype=np.float32))
        row = as_rows(session.run([output], {image_input.name: black})[0], image_input.layout)
        return OnnxExtractor(self.path, sha256, output, row.shape[1], image_input, self.mean, self.std, self.batch_size)


@lru_cache(maxsize=2)
def _session(path: Path, sha256: str, _modified_ns: int) -> Any:  # noqa: ANN401
    """The encoder in memory; the time of the file's last change is part of the key, so that a new file is checked."""
    check_hash(path, sha256)
    return load_graph(path)


_OUTPUTS = ("image_embeds", "image_embedding", "image_features", "embeddings", "pooler_output")


@stateful
@dataclass(frozen=True)
class FolderImageExtractor(GraphExtractor):
    """An exported image encoder, and how images enter it.

    Attributes:
        preprocessing: what is done to an image.
        image_input: the name of the input that takes images.
        dtype: the type of that input.
    """

    preprocessing: Preprocessing
    image_input: str = field(metadata={"stored": "entrance"})
    dtype: str

    media_type: ClassVar[str] = "image"

    def __call__(self, items: Sequence[ImageArray]) -> Singles:
        """One row of length one for each image, one at a time: together, last digits would differ."""
        session = self.open()
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
        return FolderImageExtractor(str(graph.resolve()), sha256, output, len(row), preprocessing, image_input, dtype)


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
            inputs[other.name] = np.ones(shape, dtype=INTEGERS[other.type])
    (rows,) = session.run([output], inputs)
    return np.asarray(rows[0], dtype=np.float32)


def _image_input(session: Any, graph: Path, preprocessing: Preprocessing) -> tuple[str, str]:  # noqa: ANN401
    """The name and the type of the input that takes images, channels first."""
    inputs = session.get_inputs()
    taking = [each for each in inputs if each.type in FLOATS and len(each.shape) == 4]
    others = [each for each in inputs if each not in taking]
    if len(taking) != 1 or any(each.type not in INTEGERS for each in others):
        raise ConfigError(
            f"{graph} should take images of four axes, and nothing but texts beside; it takes "
            f"{describe_inputs(session)}."
        )
    (image_input,) = taking
    wanted = (3, preprocessing.height, preprocessing.width)
    fixed = image_input.shape[1:]
    if any(isinstance(axis, int) and axis != want for axis, want in zip(fixed, wanted, strict=True)):
        raise ConfigError(
            f"{graph} takes images of shape {fixed}, but the files beside it prepare {list(wanted)}; export it again."
        )
    return image_input.name, FLOATS[image_input.type]
