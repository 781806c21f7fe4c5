"""The pretrained network as an ONNX graph, which needs neither torch nor the network's package."""

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from diptych.features.image.cnn import _INSTALLATION, _MIDDLE, _RANGE, _SIDE, CnnEncoder, _network
from diptych.features.image.onnx_encoder import OnnxEncoder, OnnxExtractor
from diptych.features.weights import required

_OPSET = 18
_WHITE = 255.0


def write_cnn_graph(encoder: CnnEncoder, path: Path) -> OnnxExtractor:
    """Write the network, its mean over the picture included, and return the extractor that reads it from there."""
    torch = required("torch", _INSTALLATION)
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
