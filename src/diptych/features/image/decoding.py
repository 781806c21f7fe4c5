"""Decode a picture somebody sent: any common format becomes plain sRGB bytes, and what is broken says why.

Turned as its EXIF says, transparency on white, the first frame of an animation, sixteen bits scaled to eight, and
never more memory than the limits allow: a header is believed only so far.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from diptych.errors import DataError
from diptych.features.contract import Picture

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "ICO", "TGA")
"""What is decoded. Others of Pillow's formats start programs or follow addresses, and stay closed."""

_DRAFT_SIDE = 512
_SIXTEEN_BITS = ("I;16", "I;16L", "I;16B", "I;16N")


class PictureError(DataError):
    """A picture that cannot be decoded, with the reason."""


@dataclass(frozen=True)
class Limits:
    """How large a picture may be.

    Attributes:
        max_pixels: width times height, as the header claims before anything is decoded.
        max_bytes: of the file.
    """

    max_pixels: int = 100_000_000
    max_bytes: int = 200 * 2**20


def decode_picture(data: bytes, limits: Limits | None = None) -> Picture:
    """Decode a file's content.

    Large JPEGs are decoded at a half, a quarter or an eighth of their size, as long as both sides keep 512 pixels:
    many times faster, and what features look at is smaller still.

    Raises:
        PictureError: when it is no picture, is damaged, or exceeds the limits.
    """
    limits = limits or Limits()
    if not data:
        raise PictureError("the file is empty")
    if len(data) > limits.max_bytes:
        raise PictureError(f"the file has {len(data):,} bytes; at most {limits.max_bytes:,} are allowed")
    try:
        with _guarded(limits), Image.open(BytesIO(data), formats=_available()) as image:
            _check_size(image, limits)
            image.draft(None, (_DRAFT_SIDE, _DRAFT_SIDE))
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


def to_picture(image: Image.Image) -> Picture:
    """An opened picture, of whatever mode, as height × width × 3 bytes."""
    upright = _upright(image)
    if upright.mode in _SIXTEEN_BITS:
        return _grey(np.asarray(upright).astype(np.float32) / 257)
    if upright.mode in ("I", "F"):
        return _grey(_to_byte_range(np.asarray(upright).astype(np.float32)))
    if upright.has_transparency_data:
        rgba = upright.convert("RGBA")
        white = Image.new("RGBA", rgba.size, "white")
        upright = Image.alpha_composite(white, rgba)
    return np.ascontiguousarray(np.asarray(upright.convert("RGB"), dtype=np.uint8))


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


def _upright(image: Image.Image) -> Image.Image:
    """Turned and mirrored as its EXIF says; where that cannot be read, as it is."""
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged metadata is no reason to lose the picture
        return image


def _to_byte_range(values: np.ndarray) -> np.ndarray:
    """Bring numbers without a stated range to 0…255 by the smallest usual range that holds them."""
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0).clip(min=0.0)
    top = float(values.max(initial=0.0))
    fractions = top <= 1.0 and bool((values != np.floor(values)).any())
    if fractions:
        return values * 255
    if top <= 255:
        return values
    return values / 257 if top <= 65535 else values * (255 / top)


def _grey(values: np.ndarray) -> Picture:
    return np.repeat(np.rint(values).clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


def _beginning(data: bytes) -> str:
    start = data[:24].decode("ascii", errors="replace")
    return "it holds text" if start.isascii() and start.isprintable() else "its first bytes are of no known format"


def _sentence(error: Exception) -> str:
    return str(error).strip().rstrip(".").splitlines()[0] if str(error).strip() else type(error).__name__
