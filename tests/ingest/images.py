"""Tiny images for tests."""

import io

import numpy as np
from PIL import Image

from diptych._core.seeding import generator


def noise(name, side=24) -> Image.Image:
    """An image of its own for every name."""
    return Image.fromarray(generator(0, "picture", str(name)).integers(0, 256, (side, side, 3), dtype=np.uint8))


def encoded(image: Image.Image, kind="PNG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def png(name, side=24) -> bytes:
    return encoded(noise(name, side))
