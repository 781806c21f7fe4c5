"""Images as a kind of media: decoding within limits, the cost of it, and thumbnails; needs the extra "images"."""

from io import BytesIO

import numpy as np
from PIL import Image

from diptych._core.arrays import ImageArray
from diptych.media.decoding import Limits, decode_image, read_header
from diptych.media.kinds import MediaLimits

LONGEST_SIDE = 256


def decode(data: bytes, limits: MediaLimits) -> ImageArray:
    """Decode an image to height × width × 3 bytes; see `diptych.media.decoding`."""
    return decode_image(data, _limits(limits))


def cost(data: bytes, limits: MediaLimits) -> int:
    """Return how many pixels an image will be decoded to, by its header alone; an SVG, which has none, is refused."""
    return read_header(data, _limits(limits)).decoded_pixels


def thumbnail(item: ImageArray) -> bytes:
    """Encode a decoded image as WebP of at most 256 pixels a side, without the metadata of the original."""
    small = Image.fromarray(item)
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    encoded = BytesIO()
    small.save(encoded, "WEBP", quality=82, method=2)
    return encoded.getvalue()


def blank() -> ImageArray:
    """Return a small white image."""
    return np.full((64, 64, 3), 255, np.uint8)


def _limits(limits: MediaLimits) -> Limits:
    return Limits(limits.max_pixels, limits.max_bytes, limits.max_side, limits.max_memory)
