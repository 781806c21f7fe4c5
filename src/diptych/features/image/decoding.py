"""Decode a picture somebody sent: any common format becomes plain sRGB bytes, and what is broken says why.

Turned as its EXIF says, transparency on white, the first frame of an animation, sixteen bits scaled to eight, and
never more memory than the limits allow: a header is believed only so far.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

from PIL import Image, UnidentifiedImageError

from diptych._core.errors import DataError
from diptych.features.contract import Picture
from diptych.features.image.pixels import SHORTER_SIDE, to_picture
from diptych.features.image.svg import SvgError, draw_svg, looks_like_svg
from diptych.features.image_formats import conversion_advice, foreign_format

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "ICO", "TGA")
"""What is decoded. Others of Pillow's formats start programs or follow addresses, and stay closed."""

_BYTES_PER_PIXEL = {"JPEG": 6, "TIFF": 8, "WEBP": 16, "AVIF": 20, "JPEG2000": 24}
_OTHERS_BYTES_PER_PIXEL = 4


class PictureError(DataError):
    """A picture that cannot be decoded, with the reason."""


@dataclass(frozen=True)
class Limits:
    """How large a picture may be.

    Attributes:
        max_pixels: width times height, as the header claims before anything is decoded.
        max_bytes: of the file.
        max_side: width and height each, as the header claims.
    """

    max_pixels: int = 100_000_000
    max_bytes: int = 200 * 2**20
    max_side: int = 30_000


def decode_picture(data: bytes, limits: Limits | None = None) -> Picture:
    """Decode a file's content.

    Large images are decoded at a fraction of their size, as long as both sides keep 512 pixels: JPEGs many times
    faster, all of them in little memory, and what features look at is smaller still.

    Raises:
        PictureError: when it is no picture, is damaged, or exceeds the limits.
    """
    limits = limits or Limits()
    if not data:
        raise PictureError("the file is empty")
    if len(data) > limits.max_bytes:
        raise PictureError(f"the file has {len(data):,} bytes; at most {limits.max_bytes:,} are allowed")
    if looks_like_svg(data):
        try:
            return draw_svg(data)
        except SvgError as error:
            raise PictureError(str(error)) from None
    try:
        with _guarded(limits), Image.open(BytesIO(data), formats=_available()) as image:
            _check_size(image, limits)
            image.draft(None, (SHORTER_SIDE, SHORTER_SIDE))
            image.load()
            return to_picture(image)
    except PictureError:
        raise
    except UnidentifiedImageError:
        raise PictureError(f"not a picture: {_beginning(data)}") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise PictureError(f"the picture claims more than {limits.max_pixels:,} pixels") from None
    except Exception as error:  # decoders raise a dozen kinds for a damaged file
        raise PictureError(f"cannot be decoded: {_sentence(error)}") from None


def decoding_bytes(image: Image.Image) -> int:
    """The memory that decoding an opened image takes at most, by its format and the size its header claims.

    Some decoders keep several copies of all pixels; the figures are measured, with room for unusual files.
    """
    width, height = image.size
    return width * height * _BYTES_PER_PIXEL.get(image.format or "", _OTHERS_BYTES_PER_PIXEL)


@contextmanager
def _guarded(limits: Limits) -> Iterator[None]:
    """Have Pillow itself refuse what is too large, wherever inside a format it meets it."""
    before = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = limits.max_pixels
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a file's metadata lacks is no concern of ours
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = before


def _available() -> list[str]:
    """The formats that this Pillow was built with."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def _check_size(image: Image.Image, limits: Limits) -> None:
    width, height = image.size
    if width * height > limits.max_pixels:
        raise PictureError(
            f"the picture claims {width:,} × {height:,} pixels; at most {limits.max_pixels:,} are allowed"
        )
    if max(width, height) > limits.max_side:
        raise PictureError(
            f"the picture claims {width:,} × {height:,} pixels; a side may have {limits.max_side:,} at most"
        )


def _beginning(data: bytes) -> str:
    foreign = foreign_format(data[:64])
    if foreign is not None:
        return f"the file {conversion_advice(foreign)}"
    start = data[:24].decode("ascii", errors="replace")
    return "it holds text" if start.isascii() and start.isprintable() else "its first bytes are of no known format"


def _sentence(error: Exception) -> str:
    return str(error).strip().rstrip(".").splitlines()[0] if str(error).strip() else type(error).__name__
