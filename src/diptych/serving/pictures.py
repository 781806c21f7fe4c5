"""A first look at an image somebody sent, before anything is decoded."""

import warnings
from io import BytesIO

from PIL import Image

from diptych.features.image.decoding import FORMATS, decoding_bytes
from diptych.features.image.pixels import reduction
from diptych.serving.problems import Problem
from diptych.serving.settings import ServingSettings

MOST_DECODING_BYTES = 300 * 10**6
"""Of memory for one image; one is decoded at a time."""


def check_picture(data: bytes, settings: ServingSettings) -> int:
    """Refuse what is no image or is too large, by its header alone; returns how many pixels it will be decoded to.

    Pillow's own limit is a warning that belongs to the whole process, so this runs in one thread only.

    Raises:
        Problem: 413 for too many bytes or pixels, 422 for what is no image.
    """
    if len(data) > settings.max_upload_bytes:
        sentence = f"the picture has {len(data):,} bytes; at most {settings.max_upload_bytes:,} are read."
        raise Problem(413, "too_large", sentence)
    width, height, memory = _claims(data)
    shown = f"the picture has {width:,} × {height:,} pixels"
    if width * height > settings.max_pixels:
        raise Problem(413, "too_many_pixels", f"{shown}; at most {settings.max_pixels:,} are read.")
    if max(width, height) > settings.max_side:
        raise Problem(413, "too_many_pixels", f"{shown}; a side may have {settings.max_side:,} at most.")
    if memory > MOST_DECODING_BYTES:
        most = int(MOST_DECODING_BYTES / (memory / (width * height)))
        raise Problem(413, "too_many_pixels", f"{shown}; of its format at most {most:,} are read.")
    return width * height // reduction(width, height) ** 2


def _claims(data: bytes) -> tuple[int, int, int]:
    """Width, height, and the memory that decoding takes."""
    Image.init()
    known = [name for name in FORMATS if name in Image.OPEN]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(data), formats=known) as image:
                return *image.size, decoding_bytes(image)
    except Image.DecompressionBombError:
        raise Problem(413, "too_many_pixels", "the picture has far too many pixels.") from None
    except Exception:  # decoders raise a dozen kinds for a damaged header
        raise Problem(422, "no_picture", "the file is no picture this server can read.") from None
