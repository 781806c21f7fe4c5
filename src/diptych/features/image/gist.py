"""GIST: the response of each part of an image to Gabor filters of several scales and orientations."""

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
import scipy.fft

from diptych._core.arrays import Floats, ImageArray, Singles
from diptych._core.state import stateful
from diptych.features.contract import Block
from diptych.features.image.colour_spaces import grey
from diptych.features.image.descriptor import FixedDescriptor

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
