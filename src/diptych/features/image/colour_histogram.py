"""The 64-d colour histogram: which colours a picture has, wherever they are."""

from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.colour_spaces import LAB_ORIGIN, LAB_UNIT, lab_bytes, look_up
from diptych.features.image.descriptor import FixedDescriptor

BINS = 4
"""Bins of each of L*, a* and b*."""

GAMUT = ((0.0, 100.0), (-86.2, 98.3), (-107.9, 94.5))
"""The L*, a* and b* that sRGB colours reach."""


def bin_edges(channel: int) -> tuple[float, ...]:
    """The three inner edges of the four equal bins of L* (0), a* (1) or b* (2)."""
    low, high = GAMUT[channel]
    return tuple(low + (high - low) * step / BINS for step in range(1, BINS))


def _bin_of_bytes(channel: int) -> ImageArray:
    """The bin of each of the 256 bytes of a channel, times the stride of that channel in the 64 bins."""
    values = LAB_ORIGIN[channel] + LAB_UNIT[channel] * np.arange(256)
    bins = np.searchsorted(bin_edges(channel), values, side="right")
    return np.asarray(bins * BINS ** (2 - channel), dtype=np.uint8)


_TABLES = tuple(_bin_of_bytes(channel) for channel in range(3))


def colour_codes(picture: ImageArray) -> ImageArray:
    """The bin from 0 to 63 of every pixel."""
    lightness, green_red, blue_yellow = look_up(lab_bytes(picture), _TABLES)
    return lightness + green_red + blue_yellow


@stateful
@dataclass(frozen=True)
class ColourHistogram(FixedDescriptor):
    """The share of the pixels in each of 4 × 4 × 4 equal boxes of L*a*b* (Chua et al., CIVR 2009; "CH").

    Column `16 i + 4 j + k` is the share with L* in bin i, a* in bin j and b* in bin k, each counted from its lowest.
    The bins part the range that sRGB reaches (`GAMUT`) rather than all that a byte could hold: no box is out of
    reach by construction, and neutral grey lies inside a box instead of on a corner where noise would scatter it.
    The row sums to 1.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block of 64."""
        meaning = "Share of pixels in a box of L*a*b*; column 16 i + 4 j + k has L* in bin i, a* in j, b* in k."
        return (Block("colour histogram", 0, BINS**3, meaning),)

    def describe(self, picture: ImageArray) -> Singles:
        """The row of one picture."""
        codes = colour_codes(picture)
        counts = np.bincount(codes.ravel(), minlength=BINS**3)
        return (counts / codes.size).astype(np.float32)
