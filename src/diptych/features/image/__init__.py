"""Features of images: descriptors of colour, texture and layout, visual words, and pretrained encoders.

Import a feature from its module: each needs its own optional packages.
"""

from abc import abstractmethod

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import DataError
from diptych.features.contract import FixedFeature


def check_image(image: ImageArray) -> ImageArray:
    """Return the image if it is one.

    Raises:
        DataError: if it is not a height × width × 3 array of bytes, or has no pixels.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise DataError(
            f"an image is an array of {image.dtype} of shape {image.shape}; "
            "give height × width × 3 bytes (uint8, sRGB), at least one pixel."
        )
    return image


class FixedDescriptor(FixedFeature[ImageArray]):
    """A descriptor of images; see `FixedFeature`."""

    @abstractmethod
    def describe(self, image: ImageArray, /) -> Singles:
        """Compute the row of one image."""

    def check(self, item: ImageArray) -> ImageArray:
        """Return the image if it is one; see `check_image`."""
        return check_image(item)
