"""An image encoder in an ONNX file; the shape of its input and output is read from the graph."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import NDArray

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.encoder_files import check_hash, file_hash, load_graph
from diptych.features.image.preprocessing import batches

Colours = tuple[float, float, float]
IMAGENET_MEAN: Colours = (0.485, 0.456, 0.406)
IMAGENET_STD: Colours = (0.229, 0.224, 0.225)
Layout = Literal["channels first", "channels last"]
_CHANNELS = 3
_USUAL_SIDE = 224
_TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16"}


@stateful
@dataclass(frozen=True)
class PictureInput:
    """The input of a graph that takes images; saved pipelines hold this class by its name.

    Attributes:
        name: what the graph calls it.
        layout: whether colours are the second axis or the last.
        height: of the images it takes.
        width: of the images it takes.
        batch: how many it takes at once, 0 for any number.
        dtype: "float32" or "float16".
    """

    name: str
    layout: Layout
    height: int
    width: int
    batch: int
    dtype: str

    def arrange(self, images: Singles) -> NDArray[Any]:
        """Convert images × height × width × colours to the graph's layout, type and batch, padded with zeros."""
        missing = max(self.batch - len(images), 0)
        filled = np.pad(images, ((0, missing), (0, 0), (0, 0), (0, 0))) if missing else images
        ordered = filled.transpose(0, 3, 1, 2) if self.layout == "channels first" else filled
        return np.ascontiguousarray(ordered, dtype=self.dtype)


def read_image_input(session: Any, side: int | None) -> PictureInput:  # noqa: ANN401
    """Find the one input, its layout and its size; `side` fills in what the graph leaves open (224 if not given).

    Raises:
        ConfigError: when the graph takes something else than images, or images of another size.
    """
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise ConfigError(
            f"the encoder has the inputs {[i.name for i in inputs]}; give a file with a single one, images."
        )
    (image_input,) = inputs
    shape = tuple(image_input.shape)
    if image_input.type not in _TYPES:
        raise ConfigError(f"the encoder's input is {image_input.type}; it must be one of {', '.join(_TYPES)}.")
    if len(shape) != 4 or _CHANNELS not in (shape[1], shape[3]):
        raise ConfigError(
            f"the encoder's input has shape {shape}; it must have 4 axes with 3 colours as second or last."
        )
    layout: Layout = "channels first" if shape[1] == _CHANNELS else "channels last"
    height, width = (_length(axis, side) for axis in (shape[2:] if layout == "channels first" else shape[1:3]))
    batch = shape[0] if isinstance(shape[0], int) else 0
    return PictureInput(image_input.name, layout, height, width, batch, _TYPES[image_input.type])


def _length(axis: object, side: int | None) -> int:
    if not isinstance(axis, int):
        return side or _USUAL_SIDE
    if side is not None and side != axis:
        raise ConfigError(f"side is {side}, but the encoder takes images of {axis} pixels; leave side out.")
    return axis


def output_name(session: Any, wanted: str | None) -> str:  # noqa: ANN401
    """Choose the output to read: the wanted one, or the first.

    Raises:
        ConfigError: when the graph has no output of that name.
    """
    names = [output.name for output in session.get_outputs()]
    if wanted is not None and wanted not in names:
        raise ConfigError(f"the encoder has no output '{wanted}'; it has {', '.join(names)}.")
    return wanted or names[0]


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
class OnnxExtractor:
    """An encoder's file by path and hash, and how images enter it.

    Attributes:
        path: where the file lies; `dataclasses.replace(extractor, path=...)` follows a file that moved.
        sha256: what it must hash to.
        image_input: name, layout and size of the graph's input.
        output: the name of the graph's output.
        dimension: the length of a row.
        mean: subtracted from each colour in [0, 1].
        std: what each colour is then divided by.
        batch_size: images that pass through at once, where the graph leaves it open.
    """

    path: str
    sha256: str
    image_input: PictureInput = field(metadata={"stored": "entrance"})
    output: str
    dimension: int
    mean: Colours
    std: Colours
    batch_size: int

    @property
    def kind(self) -> Kind:
        """Real numbers."""
        return "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block."""
        return (Block(Path(self.path).stem, 0, self.dimension, f"column of the encoder's output '{self.output}'"),)

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
        image_input, output = read_image_input(session, self.side), output_name(session, self.output)
        black = image_input.arrange(np.zeros((1, image_input.height, image_input.width, 3), dtype=np.float32))
        row = as_rows(session.run([output], {image_input.name: black})[0], image_input.layout)
        return OnnxExtractor(self.path, sha256, image_input, output, row.shape[1], self.mean, self.std, self.batch_size)


@lru_cache(maxsize=2)
def _session(path: Path, sha256: str, _modified_ns: int) -> Any:  # noqa: ANN401
    """The encoder in memory; the time of the file's last change is part of the key, so that a new file is checked."""
    check_hash(path, sha256)
    return load_graph(path)
