"""Visual descriptors of the MPEG-7 standard (ISO/IEC 15938-3; Manjunath et al., IEEE CSVT 2001), kept as real numbers.

The standard quantises each descriptor to a few bits for storage. Here nothing is quantised: rows go to learning, not
into a bit stream. In the two colour histograms a square root stands for its uneven steps, finer for rare colours.
"""

from dataclasses import dataclass

import cv2
import numpy as np
import scipy.fft

from diptych._core.arrays import ImageArray, Integers, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image import FixedDescriptor
from diptych.features.image.colour import grey, hsv_bytes

CELLS = 256
WINDOW = 8
_DIFFERENCES = np.array([6, 20, 60, 110])
"""Chroma (maximum less minimum of R, G, B) at which one group of colours ends and the next begins."""

_HUES = np.array([1, 4, 16, 16, 16])
_SUMS = np.array([32, 8, 4, 4, 4])
_STARTS = np.concatenate([[0], np.cumsum(_HUES * _SUMS)[:-1]])
_STRUCTURE_RANGE = 255.0


@stateful
@dataclass(frozen=True)
class ColourStructure(FixedDescriptor):
    """For each of 256 colours, how many positions of an 8 × 8 window see it at least once: 255 √share.

    Colours are cells of HMMD (hue, maximum, minimum, difference). Five groups by difference have
    1 × 32, 4 × 8, 16 × 4, 16 × 4 and 16 × 4 cells of hue × sum, the sum being half of maximum plus minimum.
    Larger images are thinned by a power of two, 2^⌊log₂ √(width · height) − 7.5⌋, as the standard has it.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block."""
        return (Block("colour structure", 0, CELLS, "presence of a HMMD colour under a sliding 8×8 window"),)

    def describe(self, image: ImageArray) -> Singles:
        """Find the colours, slide the window."""
        return (_STRUCTURE_RANGE * np.sqrt(window_shares(hmmd_cells(_thinned(image))))).astype(np.float32)


def _thinned(image: ImageArray) -> ImageArray:
    height, width = image.shape[:2]
    power = max(int(np.floor(np.log2(np.sqrt(height * width)) - 7.5)), 0)
    return image[:: 2**power, :: 2**power]


def hmmd_cells(image: ImageArray) -> Integers:
    """The colour of each pixel, 0 to 255."""
    channels = image.astype(np.int64)
    high, low = channels.max(axis=2), channels.min(axis=2)
    hue = hsv_bytes(image)[..., 0].astype(np.int64)
    group = np.searchsorted(_DIFFERENCES, high - low, side="right")
    return np.asarray(_STARTS[group] + hue * _HUES[group] // 180 * _SUMS[group] + (high + low) * _SUMS[group] // 511)


def window_shares(cells: Integers) -> Singles:
    """The share of window positions that see each colour; the window is cut to the image where that is smaller."""
    height, width = (min(WINDOW, side) for side in cells.shape)
    positions = (cells.shape[0] - height + 1, cells.shape[1] - width + 1)
    shares = np.zeros(CELLS, dtype=np.float32)
    window = np.ones((height, width), dtype=np.uint8)
    # One dilation for each colour that occurs: the anchor at a corner makes valid positions a slice.
    for colour in np.flatnonzero(np.bincount(cells.ravel(), minlength=CELLS)):
        seen = cv2.dilate((cells == colour).astype(np.uint8), window, anchor=(0, 0))
        shares[colour] = np.count_nonzero(seen[: positions[0], : positions[1]]) / (positions[0] * positions[1])
    return shares


HUES, SATURATIONS, VALUES = 16, 4, 4
_HALVED = (0, 1, 2, 0)
"""The axes of (hue, saturation, value) along which neighbours are joined, from 256 sums to 128, 64, 32 and 16."""

_SCALABLE_RANGE = 15.0
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

    def describe(self, image: ImageArray) -> Singles:
        """Histogram, compression, transform."""
        return haar(np.asarray(_SCALABLE_RANGE * np.sqrt(hsv_histogram(image)), dtype=np.float32))


def hsv_histogram(image: ImageArray) -> Singles:
    """Shares of the pixels by (hue, saturation, value), each axis cut into equal parts."""
    hsv = hsv_bytes(image).reshape(-1, 3).astype(np.int64)
    hue = hsv[:, 0] * HUES // 180
    saturation, value = hsv[:, 1] * SATURATIONS // 256, hsv[:, 2] * VALUES // 256
    place = (hue * SATURATIONS + saturation) * VALUES + value
    counts = np.bincount(place, minlength=HUES * SATURATIONS * VALUES)
    return (counts / len(place)).astype(np.float32).reshape(HUES, SATURATIONS, VALUES)


def haar(histogram: Singles) -> Singles:
    """Sums of the coarsest level, then differences from coarse to fine."""
    sums, differences = histogram, []
    for axis in _HALVED:
        even, odd = (np.take(sums, np.arange(start, sums.shape[axis], 2), axis=axis) for start in (0, 1))
        differences.append((even - odd).ravel())
        sums = even + odd
    return np.concatenate([sums.ravel(), *reversed(differences)])


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
    """The cosine transform of the image averaged to 8 × 8, in Y'CbCr: all 64 coefficients of 3 channels, 192.

    Coefficients are those of the orthonormal transform divided by 8, in zigzag order, so that the first of a channel
    is its mean in grey levels, with 0 for colourless Cb and Cr.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block a channel."""
        size = SIDE**2
        meaning = "cosine coefficient of the 8×8 average, zigzag from the mean to the finest"
        return tuple(Block(f"colour layout {c}", i * size, (i + 1) * size, meaning) for i, c in enumerate(CHANNELS))

    def describe(self, image: ImageArray) -> Singles:
        """Average, convert, transform."""
        # Area averages are defined only where no side grows, so pixels of tiny images are repeated first.
        down, right = (-(-SIDE // length) for length in image.shape[:2])
        enough = image.repeat(down, axis=0).repeat(right, axis=1).astype(np.float32)
        small = cv2.resize(enough, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
        luma = small @ np.array([0.299, 0.587, 0.114], dtype=np.float32)
        channels = np.stack([luma, (small[..., 2] - luma) / 1.772, (small[..., 0] - luma) / 1.402])
        coefficients = scipy.fft.dctn(channels, axes=(1, 2), norm="ortho") / SIDE
        return np.asarray(coefficients, dtype=np.float32).reshape(len(CHANNELS), -1)[:, _ORDER].ravel()


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

    The grey image is cut into some 1,100 square blocks of an even number of pixels. The means of a block's quarters
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

    def describe(self, image: ImageArray) -> Singles:
        """Classify blocks, count them by region."""
        quarters = _quarter_means(_at_least(grey(image), _SMALLEST_SIDE).astype(np.float32))
        answers = np.abs(quarters @ _FILTERS.T)
        kind = np.where(answers.max(axis=2) >= self.threshold, answers.argmax(axis=2), len(KINDS))
        rows, columns = kind.shape
        region = (np.arange(rows) * REGIONS // rows)[:, None] * REGIONS + np.arange(columns) * REGIONS // columns
        place = region * (len(KINDS) + 1) + kind
        counts = np.bincount(place.ravel(), minlength=REGIONS**2 * (len(KINDS) + 1)).reshape(REGIONS**2, -1)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        return np.asarray(shares[:, : len(KINDS)], dtype=np.float32).ravel()


def _at_least(image: ImageArray, side: int) -> ImageArray:
    """Repeat pixels of images that are too small to have a block in each region."""
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
