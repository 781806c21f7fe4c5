"""MPEG-7 scalable colour: a colour histogram as sums and differences, from coarse to fine."""

from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.colour_spaces import hsv_bytes
from diptych.features.image.descriptor import FixedDescriptor

HUES, SATURATIONS, VALUES = 16, 4, 4
_HALVED = (0, 1, 2, 0)
"""The axes of (hue, saturation, value) along which neighbours are joined, from 256 sums to 128, 64, 32 and 16."""

_RANGE = 15.0
"""The standard's four bits for one bin of the histogram."""


@stateful
@dataclass(frozen=True)
class ScalableColour(FixedDescriptor):
    """Haar coefficients of a histogram of 16 hues × 4 saturations × 4 values: 256.

    A bin's share p of the pixels becomes 15 √p. Neighbouring bins along one axis are replaced by their sum and their
    difference; sums are joined again along the next axis until 16 are left (4 × 2 × 2). Columns are these sums, then
    the 16, 32, 64 and 128 differences from coarse to fine, so that a prefix is a coarser descriptor.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block."""
        size = HUES * SATURATIONS * VALUES
        return (Block("scalable colour", 0, size, "Haar coefficient of the HSV histogram, coarse to fine"),)

    def describe(self, picture: ImageArray) -> Singles:
        """Histogram, compression, transform."""
        return haar(np.asarray(_RANGE * np.sqrt(hsv_histogram(picture)), dtype=np.float32))


def hsv_histogram(picture: ImageArray) -> Singles:
    """Shares of the pixels by (hue, saturation, value), each axis cut into equal parts."""
    hsv = hsv_bytes(picture).reshape(-1, 3).astype(np.int64)
    hue = hsv[:, 0] * HUES // 180
    saturation, value = hsv[:, 1] * SATURATIONS // 256, hsv[:, 2] * VALUES // 256
    code = (hue * SATURATIONS + saturation) * VALUES + value
    counts = np.bincount(code, minlength=HUES * SATURATIONS * VALUES)
    return (counts / len(code)).astype(np.float32).reshape(HUES, SATURATIONS, VALUES)


def haar(histogram: Singles) -> Singles:
    """Sums of the coarsest level, then differences from coarse to fine."""
    sums, differences = histogram, []
    for axis in _HALVED:
        even, odd = (np.take(sums, np.arange(start, sums.shape[axis], 2), axis=axis) for start in (0, 1))
        differences.append((even - odd).ravel())
        sums = even + odd
    return np.concatenate([sums.ravel(), *reversed(differences)])
