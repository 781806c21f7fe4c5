"""Convert an opened image of any mode to sRGB bytes, a large one at a fraction of its size.

A file of a few kilobytes may hold fifty million pixels. They are read in Pillow's own compact form; all that follows
(palettes, transparency, sixteen bits) is done strip by strip, each strip reduced before the next is looked at.
"""

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np
from PIL import Image

from diptych._core.arrays import ImageArray

SHORTER_SIDE = 512
"""Both sides keep so many pixels where an image is decoded at a fraction of its size; features look at fewer."""
MOST_PIXELS = 1_500_000
"""Of a decoded image, however long one of its sides is."""

_STRIP_PIXELS = 1_000_000
_SIXTEEN_BITS = ("I;16", "I;16L", "I;16B", "I;16N")
_ORIENTATION = 0x0112
_TURNS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda pixels: pixels[:, ::-1],
    3: lambda pixels: pixels[::-1, ::-1],
    4: lambda pixels: pixels[::-1],
    5: lambda pixels: pixels.swapaxes(0, 1),
    6: lambda pixels: pixels.swapaxes(0, 1)[:, ::-1],
    7: lambda pixels: pixels[::-1, ::-1].swapaxes(0, 1),
    8: lambda pixels: pixels.swapaxes(0, 1)[::-1],
}


def reduction(width: int, height: int) -> int:
    """Return by which whole number the sides of an image are divided when it is decoded.

    >>> reduction(1000, 900), reduction(4400, 2200), reduction(30_000, 1_000)
    (1, 4, 5)
    """
    by_side = min(width, height) // SHORTER_SIDE
    by_area = ceil(sqrt(width * height / MOST_PIXELS))
    return max(1, by_side, by_area)


def to_array(image: Image.Image) -> ImageArray:
    """Convert an opened image to height × width × 3 bytes: upright, on white, reduced if it is large."""
    factor = reduction(*image.size)
    if image.mode in ("I", "F"):  # their range is that of the whole image
        pixels = _grey(_to_byte_range(np.asarray(image.reduce(factor)).astype(np.float32)))
    elif factor == 1:
        pixels = _plain(image)
    else:
        pixels = np.concatenate(_reduced_strips(image, factor))
    turn = _TURNS.get(_orientation(image))
    return np.ascontiguousarray(pixels if turn is None else turn(pixels))


def _reduced_strips(image: Image.Image, factor: int) -> list[ImageArray]:
    """Reduce the image strip by strip, from top to bottom; a pixel is the mean of those it replaces."""
    width, height = image.size
    rows = max(1, _STRIP_PIXELS // (width * factor)) * factor
    strips = []
    for top in range(0, height, rows):
        strip = image.crop((0, top, width, min(height, top + rows)))
        strips.append(np.asarray(Image.fromarray(_plain(strip)).reduce(factor), dtype=np.uint8))
    return strips


def _plain(image: Image.Image) -> ImageArray:
    if image.mode in _SIXTEEN_BITS:
        return _grey(np.asarray(image).astype(np.float32) / 257)
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        white = Image.new("RGBA", rgba.size, "white")
        image = Image.alpha_composite(white, rgba)
    return np.asarray(image.convert("RGB"), dtype=np.uint8)


def _orientation(image: Image.Image) -> int:
    """Read the EXIF orientation; 1 (upright) where that cannot be read."""
    try:
        found = image.getexif().get(_ORIENTATION)
        return int(found) if found is not None else 1
    except Exception:  # damaged metadata is no reason to lose the image
        return 1


def _to_byte_range(values: np.ndarray) -> np.ndarray:
    """Scale numbers without a stated range to 0…255 by the smallest usual range that holds them."""
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0).clip(min=0.0)
    top = float(values.max(initial=0.0))
    fractions = top <= 1.0 and bool((values != np.floor(values)).any())
    if fractions:
        return values * 255
    if top <= 255:
        return values
    return values / 257 if top <= 65535 else values * (255 / top)


def _grey(values: np.ndarray) -> ImageArray:
    return np.repeat(np.rint(values).clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)
