"""MPEG-7 colour layout: where the colours lie, as the cosine transform of a tiny picture."""

from dataclasses import dataclass

import cv2
import numpy as np
import scipy.fft

from diptych._core.arrays import ImageArray, Integers, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.descriptor import FixedDescriptor

SIDE = 8
CHANNELS = ("luma", "blue difference", "red difference")


def zigzag(side: int) -> Integers:
    """Flat indices of a square from its corner along anti-diagonals, turning at each end: low frequencies first."""
    row, column = np.indices((side, side))
    diagonal = row + column
    along = np.where(diagonal % 2 == 1, row, column)
    return np.lexsort((along.ravel(), diagonal.ravel()))


_ORDER = zigzag(SIDE)


@stateful
@dataclass(frozen=True)
class ColourLayout(FixedDescriptor):
    """The cosine transform of the picture averaged to 8 × 8, in Y'CbCr: all 64 coefficients of 3 channels, 192.

    Coefficients are those of the orthonormal transform divided by 8, in zigzag order, so that the first of a channel
    is its mean in grey levels, with 0 for colourless Cb and Cr.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block a channel."""
        size = SIDE**2
        meaning = "cosine coefficient of the 8×8 average, zigzag from the mean to the finest"
        return tuple(Block(f"colour layout {c}", i * size, (i + 1) * size, meaning) for i, c in enumerate(CHANNELS))

    def describe(self, picture: ImageArray) -> Singles:
        """Average, convert, transform."""
        # Area averages are defined only where no side grows, so pixels of tiny pictures are repeated first.
        down, right = (-(-SIDE // length) for length in picture.shape[:2])
        enough = picture.repeat(down, axis=0).repeat(right, axis=1).astype(np.float32)
        small = cv2.resize(enough, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        luma = small @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
        channels = np.stack([luma, (small[..., 2] - luma) / 1.772, (small[..., 0] - luma) / 1.402])
        coefficients = scipy.fft.dctn(channels, axes=(1, 2), norm="ortho") / SIDE
        return np.asarray(coefficients, dtype=np.float32).reshape(len(CHANNELS), -1)[:, _ORDER].ravel()
