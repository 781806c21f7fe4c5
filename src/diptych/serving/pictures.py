"""A first look at a picture somebody sent, before anything is decoded."""

import warnings
from io import BytesIO

from PIL import Image

from diptych.features.image.decoding import FORMATS
from diptych.serving.problems import Problem


def check_picture(data: bytes, max_bytes: int, max_pixels: int) -> None:
    """Refuse what is no picture or is too large, by its header alone.

    Pillow's own limit is a warning that belongs to the whole process, so this runs in one thread only.

    Raises:
        Problem: 413 for too many bytes or pixels, 422 for what is no picture.
    """
    if len(data) > max_bytes:
        raise Problem(413, "too_large", f"the picture has {len(data):,} bytes; at most {max_bytes:,} are read.")
    width, height = _size(data)
    if width * height > max_pixels:
        sentence = f"the picture has {width:,} × {height:,} pixels; at most {max_pixels:,} are read."
        raise Problem(413, "too_many_pixels", sentence)


def _size(data: bytes) -> tuple[int, int]:
    Image.init()
    known = [name for name in FORMATS if name in Image.OPEN]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(BytesIO(data), formats=known) as image:
                return image.size
    except Image.DecompressionBombError:
        raise Problem(413, "too_many_pixels", "the picture has far too many pixels.") from None
    except Exception:  # decoders raise a dozen kinds for a damaged header
        raise Problem(422, "no_picture", "the file is no picture this server can read.") from None
