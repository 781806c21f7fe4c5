"""Dense SIFT: the descriptors of upright patches of several sizes, on a regular grid."""

from functools import lru_cache

import cv2
import numpy as np
import scipy.sparse as sp

from diptych._core.arrays import Floats, ImageArray, Singles
from diptych._core.errors import ConfigError

BINS = 4
ORIENTATIONS = 8
DIMENSION = BINS * BINS * ORIENTATIONS
_CLIP = 0.2
_BIN_PER_SIGMA = 6.0
"""A patch is seen at the scale at which one of its bins is six standard deviations of the smoothing wide."""


def dense_sift(
    image: ImageArray, *, step: int = 6, sizes: tuple[int, ...] = (4, 6, 8, 10), contrast: float = 0.005
) -> tuple[Singles, Singles]:
    """Describe patches on a grid by histograms of their gradients (Lowe 2004, without detection or rotation).

    For each size s the grey image in [0, 1] is smoothed with σ = s/6. A patch has 4 × 4 bins of s × s pixels and 8
    orientations. Each pixel adds its gradient's magnitude to the two nearest orientations and the four nearest bins by
    linear interpolation, under a Gaussian window of σ = 2s around the patch's centre. The 128 numbers are divided by
    their norm, clipped at 0.2 and divided again. Bins add pixels by weights that are a product of a row's and a
    column's, so all patches of one size are two products with sparse matrices.

    Args:
        image: height × width × 3.
        step: pixels between neighbouring patches.
        sizes: sides of one bin in pixels; every size is described at every grid point.
        contrast: a patch whose histogram, a weighted mean of gradient per pixel, has a smaller norm is all zeros, so
            that noise in flat areas is not blown up to look like structure.

    Returns:
        One descriptor a row (bin row, bin column, orientation k at k·45° from right towards down), size after size,
        and each one's centre as (row, column). An image smaller than a patch has one, at its middle.
    """
    if step < 1 or not sizes or min(sizes) < 1:
        raise ConfigError(
            f"step is {step} and sizes are {sizes}; all must be whole numbers from 1, and one size at least."
        )
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32) / 255.0
    margin = (BINS - 1) / 2 * max(sizes)
    height, width = grey.shape
    descriptors = []
    for size in sizes:
        maps = _orientation_maps(_smoothed(grey, size))
        pooled = _pool(maps, _pooling(height, step, margin, size), _pooling(width, step, margin, size))
        descriptors.append(_normalised(pooled, contrast))
    grid = np.meshgrid(grid_line(height, step, margin), grid_line(width, step, margin), indexing="ij")
    centres = np.stack(grid, axis=-1).reshape(-1, 2).astype(np.float32)
    return np.concatenate(descriptors), np.tile(centres, (len(sizes), 1))


def grid_line(length: int, step: int, margin: float) -> Floats:
    """The grid's coordinates along one side: as many as fit between the margins, centred, and one at least."""
    room = max(length - 1 - 2 * margin, 0.0)
    count = int(room // step) + 1
    return np.asarray((length - 1) / 2 + step * (np.arange(count) - (count - 1) / 2), dtype=np.float64)


def _smoothed(grey: Singles, size: int) -> Singles:
    return np.asarray(cv2.GaussianBlur(grey, (0, 0), size / _BIN_PER_SIGMA, borderType=cv2.BORDER_REPLICATE))


def _orientation_maps(grey: Singles) -> Singles:
    """Gradient magnitude divided between the two nearest of eight orientations: height × width × 8."""
    right = cv2.Sobel(grey, cv2.CV_32F, 1, 0, ksize=1, scale=0.5, borderType=cv2.BORDER_REPLICATE)
    down = cv2.Sobel(grey, cv2.CV_32F, 0, 1, ksize=1, scale=0.5, borderType=cv2.BORDER_REPLICATE)
    magnitude, angle = (part.ravel() for part in cv2.cartToPolar(right, down))
    turn = angle * np.float32(ORIENTATIONS / (2 * np.pi))
    lower = turn.astype(np.int32)
    upper_part = magnitude * (turn - lower.astype(np.float32))
    maps = np.zeros(grey.size * ORIENTATIONS, dtype=np.float32)
    first = np.arange(0, maps.size, ORIENTATIONS)
    maps[first + (lower & (ORIENTATIONS - 1))] = magnitude - upper_part
    maps[first + ((lower + 1) & (ORIENTATIONS - 1))] = upper_part
    return maps.reshape(*grey.shape, ORIENTATIONS)


@lru_cache(maxsize=256)
def _pooling(length: int, step: int, margin: float, size: int) -> sp.csr_array:
    """The weights that add pixels of one side to bins: a row for each grid point and bin, grid point first."""
    centres = np.repeat(grid_line(length, step, margin), BINS)
    bins = centres + size * np.tile(np.arange(BINS) - (BINS - 1) / 2, len(centres) // BINS)
    reach = np.arange(2 * size + 1) - size
    pixels = np.rint(bins)[:, None] + reach
    weights = np.maximum(1 - np.abs(pixels - bins[:, None]) / size, 0.0) / size
    weights *= np.exp(-((pixels - centres[:, None]) ** 2) / (2 * (2.0 * size) ** 2))
    weights[(pixels < 0) | (pixels >= length)] = 0.0
    starts = np.arange(len(bins) + 1) * len(reach)
    content = (weights.astype(np.float32).ravel(), np.clip(pixels, 0, length - 1).astype(np.int64).ravel(), starts)
    return sp.csr_array(content, shape=(len(bins), length))


def _pool(maps: Singles, rows: sp.csr_array, columns: sp.csr_array) -> Singles:
    """Add pixels to bins along both sides and gather each patch's 128 numbers."""
    height, width, _ = maps.shape
    along_rows = (rows @ maps.reshape(height, -1)).reshape(-1, width, ORIENTATIONS)
    along_both = columns @ np.ascontiguousarray(along_rows.transpose(1, 0, 2)).reshape(width, -1)
    patches = along_both.reshape(-1, BINS, rows.shape[0] // BINS, BINS, ORIENTATIONS)
    return np.asarray(patches.transpose(2, 0, 3, 1, 4)).reshape(-1, DIMENSION)


def _normalised(histograms: Singles, contrast: float) -> Singles:
    norms = np.linalg.norm(histograms, axis=1, keepdims=True)
    clear = norms >= max(contrast, np.finfo(np.float32).tiny)
    unit = np.where(clear, histograms / np.where(clear, norms, 1), 0)
    clipped = np.minimum(unit, _CLIP)
    again = np.linalg.norm(clipped, axis=1, keepdims=True)
    return np.asarray(clipped / np.where(again > 0, again, 1), dtype=np.float32)
