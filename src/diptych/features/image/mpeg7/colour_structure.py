"""MPEG-7 colour structure: how much of the picture has a colour nearby, whether in one patch or scattered."""

from dataclasses import dataclass

import cv2
import numpy as np

from diptych._core.arrays import ImageArray, Integers, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.descriptor import FixedDescriptor

CELLS = 256
WINDOW = 8
_DIFFERENCES = np.array([6, 20, 60, 110])
"""Chroma (maximum less minimum of R, G, B) at which one group of colours ends and the next begins."""

_HUES = np.array([1, 4, 16, 16, 16])
_SUMS = np.array([32, 8, 4, 4, 4])
_STARTS = np.concatenate([[0], np.cumsum(_HUES * _SUMS)[:-1]])
_RANGE = 255.0


@stateful
@dataclass(frozen=True)
class ColourStructure(FixedDescriptor):
    """For each of 256 colours, how many positions of an 8 × 8 window see it at least once: 255 √share.

    Colours are cells of HMMD (hue, maximum, minimum, difference). Five groups by difference have
    1 × 32, 4 × 8, 16 × 4, 16 × 4 and 16 × 4 cells of hue × sum, the sum being half of maximum plus minimum.
    Larger pictures are thinned by a power of two, 2^⌊log₂ √(width · height) − 7.5⌋, as the standard has it.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block."""
        return (Block("colour structure", 0, CELLS, "presence of a HMMD colour under a sliding 8×8 window"),)

    def describe(self, picture: ImageArray) -> Singles:
        """Find the colours, slide the window."""
        return (_RANGE * np.sqrt(window_shares(hmmd_cells(_thinned(picture))))).astype(np.float32)


def _thinned(picture: ImageArray) -> ImageArray:
    height, width = picture.shape[:2]
    power = max(int(np.floor(np.log2(np.sqrt(height * width)) - 7.5)), 0)
    return picture[:: 2**power, :: 2**power]


def hmmd_cells(picture: ImageArray) -> Integers:
    """The colour of each pixel, 0 to 255."""
    channels = picture.astype(np.int64)
    high, low = channels.max(axis=2), channels.min(axis=2)
    hue = cv2.cvtColor(picture, cv2.COLOR_RGB2HSV)[..., 0].astype(np.int64)
    group = np.searchsorted(_DIFFERENCES, high - low, side="right")
    return np.asarray(_STARTS[group] + hue * _HUES[group] // 180 * _SUMS[group] + (high + low) * _SUMS[group] // 511)


def window_shares(cells: Integers) -> Singles:
    """The share of window positions that see each colour; the window is cut to the picture where that is smaller."""
    height, width = (min(WINDOW, side) for side in cells.shape)
    positions = (cells.shape[0] - height + 1, cells.shape[1] - width + 1)
    shares = np.zeros(CELLS, dtype=np.float32)
    window = np.ones((height, width), dtype=np.uint8)
    # One dilation for each colour that occurs: the anchor at a corner makes valid positions a slice.
    for colour in np.flatnonzero(np.bincount(cells.ravel(), minlength=CELLS)):
        seen = cv2.dilate((cells == colour).astype(np.uint8), window, anchor=(0, 0))
        shares[colour] = np.count_nonzero(seen[: positions[0], : positions[1]]) / (positions[0] * positions[1])
    return shares
