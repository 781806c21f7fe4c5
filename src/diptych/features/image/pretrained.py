"""Images as the batches that encoders trained elsewhere take."""

from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image

from diptych._core.arrays import ImageArray, Singles
from diptych.features.image.descriptor import check_picture


def batches(items: Sequence[ImageArray], size: int, height: int, width: int) -> Iterator[Singles]:
    """Pictures resized to one size without keeping proportions: at most `size` × height × width × 3, 0 to 255.

    Bicubic, widened where the picture shrinks so that every pixel counts.
    """
    for start in range(0, len(items), size):
        yield np.stack([_resized(check_picture(item), height, width) for item in items[start : start + size]])


def _resized(picture: ImageArray, height: int, width: int) -> Singles:
    image = Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(image, dtype=np.float32)
