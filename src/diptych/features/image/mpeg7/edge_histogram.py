"""MPEG-7 edge histogram: which kinds of edge each sixteenth of the picture has."""

from dataclasses import dataclass

import cv2
import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.colour_spaces import grey
from diptych.features.image.descriptor import FixedDescriptor

REGIONS = 4
KINDS = ("vertical", "horizontal", "45°", "135°", "no direction")
_ROOT = np.sqrt(2.0)
_FILTERS = np.array(
    [[1, -1, 1, -1], [1, 1, -1, -1], [_ROOT, 0, 0, -_ROOT], [0, _ROOT, -_ROOT, 0], [2, -2, -2, 2]], dtype=np.float32
)
"""Weights of a block's four quarters (upper left, upper right, lower left, lower right) for each kind."""

_BLOCKS = 1100
_SMALLEST_SIDE = 2 * REGIONS


@stateful
@dataclass(frozen=True)
class EdgeHistogram(FixedDescriptor):
    """Shares of blocks with an edge of each of 5 kinds, in 4 × 4 regions: 80.

    The grey picture is cut into some 1,100 square blocks of an even number of pixels. The means of a block's quarters
    meet five filters; the block has the edge of the strongest if that reaches the threshold, else none. A column is
    the share of a region's blocks with one kind, region after region, in the order vertical, horizontal, 45°, 135°,
    no direction.

    Attributes:
        threshold: the least answer, in grey levels, that is an edge.
    """

    threshold: float = 11.0

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block: regions row after row, five kinds each."""
        size = REGIONS**2 * len(KINDS)
        return (Block("edge histogram", 0, size, f"share of a region's blocks with an edge: {', '.join(KINDS)}"),)

    def describe(self, picture: ImageArray) -> Singles:
        """Classify blocks, count them by region."""
        quarters = _quarter_means(_at_least(grey(picture), _SMALLEST_SIDE).astype(np.float32))
        answers = np.abs(quarters @ _FILTERS.T)
        kind = np.where(answers.max(axis=2) >= self.threshold, answers.argmax(axis=2), len(KINDS))
        rows, columns = kind.shape
        region = (np.arange(rows) * REGIONS // rows)[:, None] * REGIONS + np.arange(columns) * REGIONS // columns
        code = region * (len(KINDS) + 1) + kind
        counts = np.bincount(code.ravel(), minlength=REGIONS**2 * (len(KINDS) + 1)).reshape(REGIONS**2, -1)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        return np.asarray(shares[:, : len(KINDS)], dtype=np.float32).ravel()


def _at_least(image: ImageArray, side: int) -> ImageArray:
    """Repeat pixels of pictures that are too small to have a block in each region."""
    height, width = image.shape
    size = max(width, side), max(height, side)
    return image if size == (width, height) else np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_NEAREST))


def _quarter_means(image: Singles) -> Singles:
    """The means of the four quarters of each block: block rows × block columns × 4; what is left over is cut off."""
    height, width = image.shape
    half = max(int(np.sqrt(height * width / _BLOCKS)) // 2, 1)
    half = min(half, min(height, width) // _SMALLEST_SIDE)
    rows, columns = height // (2 * half), width // (2 * half)
    whole = image[: rows * 2 * half, : columns * 2 * half]
    means = whole.reshape(rows, 2, half, columns, 2, half).mean(axis=(2, 5))
    return np.asarray(means.transpose(0, 2, 1, 3)).reshape(rows, columns, 4)
