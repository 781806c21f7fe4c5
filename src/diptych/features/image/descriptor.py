"""The base class of image descriptors that learn nothing from items."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Self

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.errors import DataError
from diptych._core.progress import Progress, silent
from diptych.data.modality import Kind
from diptych.features.contract import Block, width


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


class FixedDescriptor(ABC):
    """A feature that is its own extractor: fitting reads nothing and returns it.

    A subclass is a frozen dataclass of its settings, marked `@stateful`, with `blocks` and `describe`.
    """

    learns: ClassVar[bool] = False

    @property
    def kind(self) -> Kind:
        """Real numbers."""
        return "dense"

    @property
    @abstractmethod
    def blocks(self) -> tuple[Block, ...]:
        """What the columns are, in order and without gaps."""

    @abstractmethod
    def describe(self, image: ImageArray) -> Singles:
        """Compute the row of one image."""

    def fit(self, items: Iterable[ImageArray], *, seed: int = 0, progress: Progress = silent) -> Self:
        """Return the descriptor itself; no item is drawn from the stream."""
        return self

    def __call__(self, items: Sequence[ImageArray]) -> Singles:
        """One row for each image."""
        rows = np.empty((len(items), width(self.blocks)), dtype=np.float32)
        for row, item in zip(rows, items, strict=True):
            row[:] = self.describe(check_image(item))
        return rows
