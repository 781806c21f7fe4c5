"""sRGB into grey, CIE L*a*b* and HSV, as bytes: a descriptor bins or averages them, and bytes are fast."""

import cv2
import numpy as np

from diptych._core.arrays import Floats, ImageArray

LAB_UNIT: Floats = np.array([100 / 255, 1.0, 1.0])
"""How much L*, a* and b* one step of a byte of `lab_bytes` is."""

LAB_ORIGIN: Floats = np.array([0.0, -128.0, -128.0])
"""The L*, a* and b* of byte 0."""


def grey(picture: ImageArray) -> ImageArray:
    """Luma as one byte a pixel, 0.299 R + 0.587 G + 0.114 B."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def lab_bytes(picture: ImageArray) -> ImageArray:
    """CIE L*a*b* (white point D65) as bytes: `L* = 100/255 · byte`, `a* = byte − 128`, `b* = byte − 128`."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), dtype=np.uint8)


def hsv_bytes(picture: ImageArray) -> ImageArray:
    """HSV as bytes: hue in steps of 2° (0 to 179), saturation and value from 0 to 255."""
    return np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2HSV), dtype=np.uint8)


def look_up(picture: ImageArray, tables: tuple[ImageArray, ...]) -> tuple[ImageArray, ...]:
    """Send each channel's bytes through a table of 256 bytes of its own."""
    channels = cv2.split(picture)
    return tuple(
        np.asarray(cv2.LUT(channel, table), dtype=np.uint8) for channel, table in zip(channels, tables, strict=True)
    )
