"""Texture descriptors: GIST, an edge direction histogram and wavelet energies."""

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
import pywt  # type: ignore[import-untyped]
import scipy.fft
from numpy.typing import NDArray

from diptych._core.arrays import Floats, ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image import FixedDescriptor
from diptych.features.image.colour import grey

DIRECTIONS = 72
DEGREES = 360 // DIRECTIONS

WAVELET = "db8"
"""Daubechies' orthogonal wavelet of 16 taps, the one Manjunath and Ma take."""

LEVELS = 3
BANDS = ("LL", "LH", "HL", "HH")
"""First letter: low or high frequencies from left to right; second letter: from top to bottom."""

SPLIT_AGAIN = 3
"""The tree splits the first three bands of every node again: all but HH."""


@stateful
@dataclass(frozen=True)
class EdgeDirection(FixedDescriptor):
    """Directions of the points on Canny's edges, and how much of the image is no edge (NUS-WIDE's "EDH").

    Columns 0 to 71: of the edge points, the share whose grey gradient (Sobel) points within 2.5° of `5 · column`
    degrees. 0° is brighter to the right and 90° brighter upwards, as the image is seen; bins are centred on these
    so that upright edges do not straddle two. They sum to 1, or are all 0 where there is no edge.
    Column 72: of all pixels, the share that lie on no edge.

    The image is turned grey and blurred a little (Gaussian), since Canny's detector (PAMI 1986) expects it.

    Attributes:
        blur: the standard deviation of the Gaussian, in pixels.
        weak: the gradient from which a point continues an edge, in grey levels times the Sobel operator's gain of 4.
        strong: the gradient from which a point starts one.
    """

    blur: float = 1.0
    weak: float = 50.0
    strong: float = 125.0

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Seventy-two directions and one for the rest."""
        direction = "Share of edge points whose gradient points within 2.5° of 5° times the column."
        rest = "Share of pixels that lie on no edge."
        return Block("edge directions", 0, DIRECTIONS, direction), Block("no edge", DIRECTIONS, DIRECTIONS + 1, rest)

    def describe(self, image: ImageArray) -> Singles:
        """The row of one image."""
        smooth = cv2.GaussianBlur(grey(image), (0, 0), self.blur, borderType=cv2.BORDER_REPLICATE)
        right, down = (
            cv2.Sobel(smooth, cv2.CV_16S, *order, borderType=cv2.BORDER_REPLICATE) for order in ((1, 0), (0, 1))
        )
        edge = np.asarray(cv2.Canny(right, down, self.weak, self.strong, L2gradient=True)) > 0
        degrees = np.degrees(np.arctan2(-down[edge].astype(np.float64), right[edge].astype(np.float64)))
        bins = np.rint(degrees / DEGREES).astype(np.int64) % DIRECTIONS
        counts = np.bincount(bins, minlength=DIRECTIONS)
        shares = counts / max(bins.size, 1)
        return np.append(shares, 1 - bins.size / edge.size).astype(np.float32)


@lru_cache(maxsize=64)
def _analysis(side: int) -> Singles:
    """The matrix that turns `side` samples into ⌈side/2⌉ low and as many high coefficients, low ones first.

    Beyond the border the signal is mirrored, which makes no false edges; the coefficients that lie mostly out there
    are left out.
    """
    half = -(-side // 2)
    low, high = pywt.dwt(np.eye(side), WAVELET, mode="symmetric", axis=0)
    start = (len(low) - half) // 2
    return np.concatenate([low[start : start + half], high[start : start + half]]).astype(np.float32)


def split(nodes: Singles) -> Singles:
    """Cut each of (n, height, width) images into its four bands: (n, 4, ⌈height/2⌉, ⌈width/2⌉), as in `BANDS`."""
    height, width = nodes.shape[1:]
    whole = _analysis(height) @ nodes @ _analysis(width).T
    top, left = -(-height // 2), -(-width // 2)
    low, high = whole[:, :top], whole[:, top:]
    bands = (low[..., :left], high[..., :left], low[..., left:], high[..., left:])
    return np.stack(bands, axis=1)


def tree_nodes() -> tuple[str, ...]:
    """The 52 bands of the tree, level after level, each named by its way down: `"LL"`, ..., `"HL/LH/HH"`."""
    names: list[str] = []
    parents = [""]
    for _ in range(LEVELS):
        children = [[f"{parent}{band}" for band in BANDS] for parent in parents]
        names += [name for family in children for name in family]
        parents = [f"{name}/" for family in children for name in family[:SPLIT_AGAIN]]
    return tuple(names)


def pyramid_nodes() -> tuple[str, ...]:
    """The 12 bands of the pyramid, which splits LL alone."""
    return tuple("LL/" * level + band for level in range(LEVELS) for band in BANDS)


_PYRAMID_IN_TREE = [tree_nodes().index(name) for name in pyramid_nodes()]


def _statistics(bands: Singles) -> NDArray[np.float32]:
    """The mean and the standard deviation of the magnitudes in each (..., height, width) band: (n, 2)."""
    magnitudes = np.abs(bands.reshape(-1, bands.shape[-2] * bands.shape[-1]))
    return np.stack([magnitudes.mean(axis=1), magnitudes.std(axis=1)], axis=1)


@stateful
@dataclass(frozen=True)
class WaveletTexture(FixedDescriptor):
    """Means and standard deviations of wavelet magnitudes (Manjunath & Ma, PAMI 1996; "WT" in NUS-WIDE).

    The grey image, from 0 to 1, is split into bands LL, LH, HL and HH (`BANDS`; horizontal stripes show in LH,
    upright ones in HL) at three levels, in two ways: the pyramid splits LL again (12 bands), the tree LL, LH and HL
    (4 + 12 + 36 = 52 bands). Columns 0 to 23 are the pyramid's, 24 to 127 the tree's; each band has two columns, the
    mean of |coefficient| and then its standard deviation. Bands come in the order of `pyramid_nodes` and
    `tree_nodes`. The pyramid is part of the tree, so that its columns occur twice: the layout is that of NUS-WIDE.
    """

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The pyramid's and the tree's."""
        meaning = "Mean (even column) or standard deviation (odd) of wavelet magnitudes in a band of the "
        pyramid, tree = 2 * len(pyramid_nodes()), 2 * len(tree_nodes())
        return (
            Block("wavelet pyramid", 0, pyramid, meaning + "pyramid."),
            Block("wavelet tree", pyramid, pyramid + tree, meaning + "tree."),
        )

    def describe(self, image: ImageArray) -> Singles:
        """The row of one image."""
        nodes = grey(image)[None].astype(np.float32) / np.float32(255)
        levels = []
        for _ in range(LEVELS):
            bands = split(nodes)
            levels.append(_statistics(bands))
            nodes = bands[:, :SPLIT_AGAIN].reshape(-1, *bands.shape[2:])
        tree = np.concatenate(levels)
        return np.concatenate([tree[_PYRAMID_IN_TREE], tree]).ravel()


_LOCAL_CYCLES = 4.0
"""Cycles an image below which brightness and contrast count as lighting and are divided out."""

_LOCAL_PADDING = 5
_CONTRAST_FLOOR = 0.2
_HIGHEST_FREQUENCY = 0.3
_SCALE_RATIO = 1.85
_RADIAL_SHARPNESS = 3.5
"""A filter's fall is exp(−3.5 (f/f₀ − 1)²) along the radius."""


@stateful
@dataclass(frozen=True)
class Gist(FixedDescriptor):
    """The spatial envelope of Oliva and Torralba (IJCV 2001): 4 scales × 8 orientations × 4 × 4 cells = 512.

    The grey image is brought to a square; log(1 + grey) less its own blur, divided by 0.2 plus the local standard
    deviation, takes lighting away. Gabor filters are set up in the frequency plane: scale s is centred on f₀ =
    0.3 / 1.85^s cycles a pixel, orientation o on angle π o / 8, with the fall exp(−3.5 (f/f₀ − 1)² − 2π (n²/64) t²),
    n orientations and t the angle from the centre. The column is the mean magnitude of a filter's answer in a cell.

    Attributes:
        scales: frequencies, from fine to coarse.
        orientations: directions in half a turn.
        cells: the side of the grid of cells.
        side: the square the image is brought to.
        padding: mirrored pixels around it, so that the border is no edge.
    """

    scales: int = 4
    orientations: int = 8
    cells: int = 4
    side: int = 128
    padding: int = 32

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One block a scale: orientation, then cells row after row."""
        size = self.orientations * self.cells**2
        meaning = f"mean Gabor magnitude: {self.orientations} orientations, each in {self.cells}×{self.cells} cells"
        return tuple(Block(f"gist scale {s}", s * size, (s + 1) * size, meaning) for s in range(self.scales))

    def describe(self, image: ImageArray) -> Singles:
        """Filter in the frequency plane and average magnitudes over cells."""
        padded = np.pad(_without_lighting(_square(grey(image), self.side)), self.padding, mode="symmetric")
        filters = _gabor_filters(self.scales, self.orientations, padded.shape[0])
        answers = scipy.fft.ifft2(scipy.fft.fft2(padded) * filters, overwrite_x=True)
        inside = slice(self.padding, self.padding + self.side)
        return _cell_means(np.abs(answers[:, inside, inside]), self.cells)


def _square(image: ImageArray, side: int) -> ImageArray:
    """Average along sides that shrink, then interpolate along sides that grow."""
    small = cv2.resize(image, (min(image.shape[1], side), min(image.shape[0], side)), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (side, side), interpolation=cv2.INTER_LINEAR), dtype=np.uint8)


def _without_lighting(square: ImageArray) -> Singles:
    """Local brightness subtracted and local contrast divided out."""
    signal = np.pad(np.log1p(square.astype(np.float32)), _LOCAL_PADDING, mode="symmetric")
    blur = _low_pass(signal.shape[0])
    high = signal - _filtered(signal, blur)
    deviation = np.sqrt(np.abs(_filtered(high * high, blur)))
    inside = slice(_LOCAL_PADDING, -_LOCAL_PADDING)
    return np.asarray(high / (_CONTRAST_FLOOR + deviation), dtype=np.float32)[inside, inside]


def _filtered(signal: Singles, transfer: Singles) -> Singles:
    return np.asarray(scipy.fft.irfft2(scipy.fft.rfft2(signal) * transfer, s=signal.shape))


@lru_cache(maxsize=8)
def _low_pass(side: int) -> Singles:
    """A Gaussian that is one half at `_LOCAL_CYCLES` cycles an image, for `rfft2`."""
    down, right = np.fft.fftfreq(side)[:, None] * side, np.fft.rfftfreq(side)[None] * side
    return np.exp2(-(down**2 + right**2) / _LOCAL_CYCLES**2).astype(np.float32)


@lru_cache(maxsize=8)
def _gabor_filters(scales: int, orientations: int, side: int) -> Singles:
    """Transfer functions, scale after scale: (scales · orientations) × side × side."""
    frequency = np.fft.fftfreq(side)
    radius = np.hypot(frequency[:, None], frequency[None])
    angle = np.arctan2(frequency[:, None], frequency[None])
    filters = [
        _gabor(
            radius, angle, _HIGHEST_FREQUENCY / _SCALE_RATIO**scale, np.pi * orientation / orientations, orientations
        )
        for scale in range(scales)
        for orientation in range(orientations)
    ]
    return np.stack(filters).astype(np.float32)


def _gabor(radius: Floats, angle: Floats, centre: float, direction: float, orientations: int) -> Floats:
    away = np.angle(np.exp(1j * (angle - direction)))
    return np.asarray(
        np.exp(-_RADIAL_SHARPNESS * (radius / centre - 1) ** 2 - 2 * np.pi * orientations**2 / 64 * away**2)
    )


def _cell_means(magnitudes: Singles, cells: int) -> Singles:
    side = magnitudes.shape[1]
    edges = np.arange(cells) * side // cells
    sums = np.add.reduceat(np.add.reduceat(magnitudes, edges, axis=1), edges, axis=2)
    lengths = np.diff(np.append(edges, side))
    return np.asarray(sums / np.outer(lengths, lengths), dtype=np.float32).ravel()
