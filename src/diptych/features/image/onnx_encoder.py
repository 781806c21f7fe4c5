"""Any image encoder in an ONNX file as a feature: what it takes is read from its graph."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.image.onnx_graph import PictureInput, as_rows, output_name, picture_input
from diptych.features.image.pretrained import batches
from diptych.features.weights import check_hash, file_hash, required

Colours = tuple[float, float, float]
IMAGENET_MEAN: Colours = (0.485, 0.456, 0.406)
IMAGENET_STD: Colours = (0.229, 0.224, 0.225)
_INSTALLATION = "pip install onnxruntime"


@stateful
@dataclass(frozen=True)
class OnnxExtractor:
    """An encoder's file by path and hash, and how pictures enter it.

    Attributes:
        path: where the file lies; `dataclasses.replace(extractor, path=...)` follows a file that moved.
        sha256: what it must hash to.
        entrance: name, layout and size of the graph's input.
        output: the name of the graph's output.
        dimension: the length of a row.
        mean: subtracted from each colour in [0, 1].
        std: what each colour is then divided by.
        batch_size: pictures that pass through at once, where the graph leaves it open.
    """

    path: str
    sha256: str
    entrance: PictureInput
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
        """One row for each picture."""
        path, entrance = Path(self.path), self.entrance
        session = _session(path, self.sha256, path.stat().st_mtime_ns if path.exists() else 0)
        scale, shift = 1 / (255 * np.array(self.std)), np.array(self.mean) / np.array(self.std)
        rows = [np.empty((0, self.dimension), dtype=np.float32)]
        for batch in batches(items, entrance.batch or self.batch_size, entrance.height, entrance.width):
            signal = entrance.arrange((batch * scale - shift).astype(np.float32))
            (output,) = session.run([self.output], {entrance.name: signal})
            rows.append(as_rows(output, entrance.layout)[: len(batch)])
        return np.concatenate(rows)


@dataclass(frozen=True)
class OnnxEncoder:
    """An encoder that somebody trained and exported; nothing is learned from the items.

    Pictures are resized to what the graph takes and become (rgb/255 − mean) / std. An output of four axes is averaged
    over the picture.

    Attributes:
        path: the ONNX file.
        side: height and width of the pictures, needed only where the graph leaves them open; 224 if not given.
        mean: of each colour; ImageNet's unless the encoder says otherwise.
        std: of each colour.
        output: which output to read, the first if not given.
        batch_size: pictures that pass through at once; with more than one, a row's last digits may depend on how many
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
        """Read the graph and send one black picture through it to learn a row's length; no item is read.

        Raises:
            ConfigError: when the graph does not take pictures, or an option does not fit it.
            DataError: when there is no such file.
        """
        if min(self.std) <= 0:
            raise ConfigError(f"std is {self.std}; each must be above 0.")
        path = Path(self.path)
        sha256 = file_hash(path)
        session = _session(path, sha256, path.stat().st_mtime_ns)
        entrance, output = picture_input(session, self.side), output_name(session, self.output)
        black = entrance.arrange(np.zeros((1, entrance.height, entrance.width, 3), dtype=np.float32))
        row = as_rows(session.run([output], {entrance.name: black})[0], entrance.layout)
        return OnnxExtractor(self.path, sha256, entrance, output, row.shape[1], self.mean, self.std, self.batch_size)


@lru_cache(maxsize=2)
def _session(path: Path, sha256: str, _modified_ns: int) -> Any:  # noqa: ANN401
    """The encoder in memory; the time of the file's last change is part of the key, so that a new file is checked."""
    check_hash(path, sha256)
    runtime = required("onnxruntime", _INSTALLATION)
    try:
        return runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:
        if type(error).__module__.startswith("onnxruntime"):
            raise ConfigError(f"{path} is no ONNX file that this onnxruntime reads ({error}).") from None
        raise
