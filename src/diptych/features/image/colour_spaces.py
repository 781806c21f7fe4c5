"""Convert sRGB to grey, CIE L*a*b*, HSV and a palette of 36 colours, as bytes, which are fast to bin."""

import cv2
import numpy as np

from diptych._core.arrays import Floats, ImageArray

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
