"""Colour descriptors: a histogram, an auto-correlogram, and moments in a grid of cells."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import cv2
import numpy as np

from diptych._core.arrays import Floats, ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image import FixedDescriptor

LAB_UNIT: Floats = np.array([100 / 255, 1.0, 1.0])
"""How much L*, a* and b* one step of a byte of `lab_bytes` is."""

LAB_ORIGIN: Floats = np.array([0.0, -128.0, -128.0])
"""The L*, a* and b* of byte 0."""


def grey(image: ImageArray) -> ImageArray:
    """Convert to luma, one byte a pixel: 0.299 R + 0.587 G + 0.114 B."""
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def lab_bytes(image: ImageArray) -> ImageArray:
    """Convert to CIE L*a*b* (white point D65) as bytes: `L* = 100/255 · byte`, `a* = byte − 128`, `b* = byte − 128`."""
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2LAB), dtype=np.uint8)


def hsv_bytes(image: ImageArray) -> ImageArray:
    """Convert to HSV as bytes: hue in steps of 2° (0 to 179), saturation and value from 0 to 255."""
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2HSV), dtype=np.uint8)


def look_up(image: ImageArray, tables: tuple[ImageArray, ...]) -> tuple[ImageArray, ...]:
    """Map each channel's bytes by a table of 256 bytes of its own."""
    channels = cv2.split(image)
    return tuple(
        np.asarray(cv2.LUT(channel, table), dtype=np.uint8) for channel, table in zip(channels, tables, strict=True)
    )


COLOURS = 36
GREYS = 8
HUE_EDGES = (22, 45, 70, 155, 186, 278, 330)
"""Degrees where red (around 0°) ends, then orange, yellow, green, cyan, blue and purple; then red again."""

DARK, PALE, LIGHT = 0.2, 0.2, 0.8
"""Value below which all is black; saturation below which all is grey; value from which grey is white."""

VIVID_SATURATION, VIVID_VALUE = 0.65, 0.7


def _grey_table() -> ImageArray:
    """The colour of an unsaturated pixel by its byte of value: black 0, greys 1 to 6, white 7."""
    edges = np.round(255 * np.linspace(DARK, LIGHT, GREYS - 1), 6)  # 0.2 is byte 51 exactly
    return np.searchsorted(edges, np.arange(256), side="right").astype(np.uint8)


def _hue_table() -> ImageArray:
    """Four times the hue, 0 to 6, by the byte of hue (2° a step), after the greys."""
    hues = np.searchsorted(HUE_EDGES, 2 * np.arange(256), side="right") % len(HUE_EDGES)
    return (GREYS + 4 * hues).astype(np.uint8)


def _from(threshold: float, worth: int) -> ImageArray:
    """Return a table: `worth` for bytes from the threshold upwards, else 0."""
    return (worth * (np.arange(256) >= threshold * 255)).astype(np.uint8)


_COLOUR_TABLES = (_hue_table(), _from(VIVID_SATURATION, 2), _from(VIVID_VALUE, 1))
_GREY_TABLES = (np.zeros(256, dtype=np.uint8), _from(PALE, 1), _grey_table())


def palette_indices(image: ImageArray) -> ImageArray:
    """Return the colour of the palette, 0 to 35, of every pixel.

    Where value is under 0.2, black: 0. Else where saturation is under 0.2: greys 1 to 6 by value in steps of 0.1,
    and from 0.8 white: 7. Else `8 + 4 h + 2 s + v`: h is the hue among red, orange, yellow, green, cyan, blue and
    purple (`HUE_EDGES`), s is 1 for saturation from 0.65, v is 1 for value from 0.7. This is the palette of
    L. Zhang, F. Lin and B. Zhang (TENCON 1999); NUS-WIDE says only that there are 36 colours.
    """
    hsv = hsv_bytes(image)
    hue, saturation, value = look_up(hsv, _COLOUR_TABLES)
    _, coloured, grey = look_up(hsv, _GREY_TABLES)
    return np.where((grey == 0) | (coloured == 0), grey, hue + saturation + value)


BINS = 4
"""Bins of each of L*, a* and b*."""

GAMUT = ((0.0, 100.0), (-86.2, 98.3), (-107.9, 94.5))
"""The L*, a* and b* that sRGB colours reach."""


def bin_edges(channel: int) -> tuple[float, ...]:
    """Return the three inner edges of the four equal bins of L* (0), a* (1) or b* (2)."""
    low, high = GAMUT[channel]
    return tuple(low + (high - low) * step / BINS for step in range(1, BINS))


def _bin_of_bytes(channel: int) -> ImageArray:
    """The bin of each of the 256 bytes of a channel, times the stride of that channel in the 64 bins."""
    values = LAB_ORIGIN[channel] + LAB_UNIT[channel] * np.arange(256)
    bins = np.searchsorted(bin_edges(channel), values, side="right")
    return np.asarray(bins * BINS ** (2 - channel), dtype=np.uint8)


_BIN_TABLES = tuple(_bin_of_bytes(channel) for channel in range(3))


def histogram_bins(image: ImageArray) -> ImageArray:
    """Return the bin, 0 to 63, of every pixel."""
    lightness, green_red, blue_yellow = look_up(lab_bytes(image), _BIN_TABLES)
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

    def describe(self, image: ImageArray) -> Singles:
        """The row of one image."""
        bins = histogram_bins(image)
        counts = np.bincount(bins.ravel(), minlength=BINS**3)
        return (counts / bins.size).astype(np.float32)


DISTANCES = (1, 3, 5, 7)


def half_ring(distance: int) -> list[tuple[int, int]]:
    """Return one of each two opposite steps (down, right) of chessboard length `distance`: 4 · distance of them."""
    steps = range(-distance, distance + 1)
    ring = [(down, right) for down in steps for right in steps if max(abs(down), abs(right)) == distance]
    return [step for step in ring if step > (0, 0)]


_HALF_RINGS = {distance: half_ring(distance) for distance in DISTANCES}
_MARGIN = max(DISTANCES)


@lru_cache(maxsize=16)
def _ring_sizes(height: int, width: int, distance: int) -> Floats:
    """For each pixel, how many pixels of the image lie at a distance from it; margin pixels have none."""

    def within(side: int, reach: int) -> Floats:
        place = np.arange(side, dtype=np.float64)
        return np.minimum(place + reach, side - 1) - np.maximum(place - reach, 0) + 1

    squares = [np.multiply.outer(within(height, reach), within(width, reach)) for reach in (distance, distance - 1)]
    sizes = np.zeros((height, width + _MARGIN))
    sizes[:, :width] = squares[0] - squares[1]
    return sizes.ravel()


def auto_correlogram(colours: ImageArray) -> Floats:
    """Compute P(a pixel at distance d has colour c | this pixel has colour c), for every d and c: (4, 36).

    Rows are laid end to end with a margin between them, so that a step is one shift of a flat array; margin pixels
    have a colour of their own, which is dropped. Equal pairs look the same from both ends: half the ring suffices.
    """
    height, width = colours.shape
    stride = width + _MARGIN
    padded = np.full((height + _MARGIN + 1, stride), COLOURS, dtype=np.uint8)
    padded[:height, :width] = colours
    flat, span = padded.ravel(), height * stride
    here, equal = flat[:span], np.empty(span, dtype=np.bool_)
    places = here.astype(np.intp)
    result = np.zeros((len(DISTANCES), COLOURS))
    for row, distance in zip(result, DISTANCES, strict=True):
        partners = np.zeros(span, dtype=np.uint8)
        for down, right in _HALF_RINGS[distance]:
            shift = down * stride + right
            np.equal(here, flat[shift : shift + span], out=equal)
            partners += equal.view(np.uint8)
        equal_pairs = 2 * np.bincount(places, partners, COLOURS + 1)[:COLOURS]
        all_pairs = np.bincount(places, _ring_sizes(height, width, distance), COLOURS + 1)[:COLOURS]
        np.divide(equal_pairs, all_pairs, out=row, where=all_pairs > 0)
    return result


@stateful
@dataclass(frozen=True)
class ColourCorrelogram(FixedDescriptor):
    """The auto-correlogram of 36 colours of HSV at four distances (Huang et al., CVPR 1997; "CORR" in NUS-WIDE).

    Column `36 t + c` is, for the t-th distance d of 1, 3, 5 and 7: of all pixels that lie at d from a pixel of
    colour c, the share that have colour c too. Distance is that of the chessboard, max(|Δx|, |Δy|); pixels beyond
    the border do not count, so that one flat colour scores exactly 1. Colours that are absent, and distances the
    image is too small for, score 0. See `palette_indices` for the colours.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block of 36 for each distance."""
        return tuple(
            Block(
                f"colour correlogram at {distance}",
                COLOURS * turn,
                COLOURS * (turn + 1),
                f"Share of the pixels {distance} away from those of a colour of the HSV palette that have it too.",
            )
            for turn, distance in enumerate(DISTANCES)
        )

    def describe(self, image: ImageArray) -> Singles:
        """The row of one image."""
        return auto_correlogram(palette_indices(image)).ravel().astype(np.float32)


GRID = 5
MOMENTS = 3
CHANNELS = 3


def bounds(side: int) -> list[int]:
    """Return where five nearly equal parts of a side start, and where the last ends."""
    return [part * side // GRID for part in range(GRID + 1)]


def strip_moments(strip: ImageArray) -> Floats:
    """Compute moments of the five cells of one row of the grid: (5 columns, 3 moments, channels).

    They are the mean, the standard deviation and the cube root of the third central moment. The mean of a flat cell
    is exact (whole numbers, double precision), and so its other moments are exactly 0.
    """
    edges = bounds(strip.shape[1])
    widths = np.diff(edges)
    sizes = strip.shape[0] * widths[:, None]

    def average(values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values.sum(axis=0), edges[:-1], axis=0) / sizes)

    values = strip.astype(np.float64)
    mean = average(values)
    deviations = values - mean.repeat(widths, axis=0)
    squares = deviations * deviations
    return np.stack([mean, np.sqrt(average(squares)), np.cbrt(average(squares * deviations))], axis=1)


def grid_moments(channels: ImageArray) -> Floats:
    """Compute moments of all cells: (5 rows, 5 columns, 3 moments, channels).

    A side shorter than five pixels has each of them repeated five times first, so that no cell is empty.
    """
    for axis in (0, 1):
        channels = np.repeat(channels, GRID, axis=axis) if channels.shape[axis] < GRID else channels
    rows = pairwise(bounds(channels.shape[0]))
    return np.stack([strip_moments(channels[top:bottom]) for top, bottom in rows])


@stateful
@dataclass(frozen=True)
class ColourMoments(FixedDescriptor):
    """Three moments of L*, a* and b* in each cell of a 5 × 5 grid (Stricker & Orengo 1995; NUS-WIDE's "CM55").

    Column `9 (5 row + column) + 3 m + c` is, in the grid's cell (row, column) from the top left, moment m of channel
    c: m = 0 the mean, 1 the standard deviation, 2 the cube root of the third central moment (negative for a tail of
    low values); c = 0 for L*, 1 for a*, 2 for b*. All are in units of L*a*b*.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block of 225."""
        meaning = (
            "Mean, standard deviation or cube root of the third central moment of L*, a* or b* in a cell of a 5 × 5 "
            "grid; column 9 cell + 3 moment + channel."
        )
        return (Block("colour moments", 0, GRID * GRID * MOMENTS * CHANNELS, meaning),)

    def describe(self, image: ImageArray) -> Singles:
        """The row of one image."""
        cells = LAB_UNIT * grid_moments(lab_bytes(image))
        cells[..., 0, :] += LAB_ORIGIN
        return cells.ravel().astype(np.float32)
