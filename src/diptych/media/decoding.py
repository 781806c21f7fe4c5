"""Images as a kind of media: any common format is decoded into sRGB bytes, within limits; needs the extra "images".

Images are turned as their EXIF says, transparency is put on white, an animation gives its first frame, sixteen bits are
scaled to eight. Memory is bounded: a header is read and checked before any pixel, an image is decoded at the size that
features need, and one at a time in a process.
"""

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import BytesIO
from os import PathLike
from pathlib import Path
from threading import Lock

import numpy as np
from PIL import Image, UnidentifiedImageError

from diptych._core.arrays import ImageArray
from diptych._core.errors import DataError
from diptych.media.formats import (
    ICON_TYPE,
    SVG_TYPE,
    content_type,
    conversion_advice,
    unsupported_format,
)
from diptych.media.kinds import MediaError, MediaLimits, MediaTooLargeError
from diptych.media.parts import coded_pixels, parts_problem
from diptych.media.pixels import SHORTER_SIDE, SvgError, draw_svg, reduction, to_array

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF", "ICO", "TGA")
"""What is decoded. Others of Pillow's formats start programs or follow addresses, and stay closed."""

LONGEST_SIDE = 256
"""Of a thumbnail."""
_BYTES_PER_PIXEL = {"JPEG": 6, "TIFF": 8, "WEBP": 16, "AVIF": 20, "JPEG2000": 24}
_OTHERS_BYTES_PER_PIXEL = 4
_MOST_INNER_PIXELS = 16_000_000
"""Of an image inside a file that claims to be smaller: an icon's, or the tiles of a TIFF."""
_PILLOW = Lock()
"""Held while an image is decoded: it bounds memory, and Pillow's limits and warnings belong to the whole process."""


class ImageError(MediaError):
    """An image that cannot be decoded, with the reason."""


class ImageTooLargeError(ImageError, MediaTooLargeError):
    """An image that exceeds the limits, with the reason."""


@dataclass(frozen=True)
class Limits:
    """Limits to the size of an image.

    Attributes:
        max_pixels: width times height, as the header claims before anything is decoded.
        max_bytes: of the file.
        max_side: width and height each, as the header claims.
        max_memory: bytes that decoding may take at its peak; None for no limit besides the others.
    """

    max_pixels: int = 100_000_000
    max_bytes: int = 200 * 2**20
    max_side: int = 30_000
    max_memory: int | None = None


@dataclass(frozen=True)
class ImageHeader:
    """The size and format of an image file, read before it is decoded.

    Attributes:
        width: in pixels.
        height: in pixels.
        format: Pillow's name of it.
    """

    width: int
    height: int
    format: str

    @property
    def memory(self) -> int:
        """Bytes that decoding takes at its peak: some decoders keep several copies of all pixels.

        The figures are measured, with room for unusual files.
        """
        return self.width * self.height * _BYTES_PER_PIXEL.get(self.format, _OTHERS_BYTES_PER_PIXEL)

    @property
    def decoded_pixels(self) -> int:
        """How many pixels the decoded image has."""
        return self.width * self.height // reduction(self.width, self.height) ** 2


def read_header(data: bytes, limits: Limits | None = None) -> ImageHeader:
    """Read the header of an image file, and nothing else.

    Raises:
        ImageTooLargeError: when the image exceeds the limits.
        ImageError: when it is no image; an SVG has no header.
    """
    with _opened(data, limits or Limits()) as image:
        return _header(image)


def read_image(item: str | PathLike[str] | bytes | Image.Image) -> ImageArray:
    """Decode the image at a path, the bytes of an image file, or an image opened by Pillow.

    Raises:
        DataError: when the file cannot be read or is no image; the message names it.
    """
    match item:
        case Image.Image():
            return to_array(item)
        case bytes():
            name, data = "the given bytes", item
        case str() | PathLike():
            name, data = str(item), _file_content(Path(item), Limits().max_bytes)
        case _:
            kind = type(item).__name__
            raise DataError(f"an image is a {kind}; give a path, bytes, a Pillow image or an array of bytes.")
    try:
        return decode_image(data)
    except ImageError as error:
        raise DataError(f"{name}: {error}; give an image.") from None


def decode_image(data: bytes, limits: Limits | None = None) -> ImageArray:
    """Decode the content of an image file.

    Large images are decoded at a fraction of their size, as long as both sides keep 512 pixels: JPEGs many times
    faster, all of them in little memory, and what features look at is smaller still.

    Raises:
        ImageTooLargeError: when the image exceeds the limits.
        ImageError: when it is no image, or a damaged one.
    """
    limits = limits or Limits()
    if content_type(data) == SVG_TYPE:
        _check_file(data, limits)
        with _guarded(limits.max_pixels):
            try:
                return draw_svg(data)
            except SvgError as error:
                raise ImageError(str(error)) from None
    with _opened(data, limits) as image:
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        Image.MAX_IMAGE_PIXELS = max(image.width * image.height, _MOST_INNER_PIXELS)
        image.draft(None, (SHORTER_SIDE, SHORTER_SIDE))
        image.load()
        return to_array(image)


def decode(data: bytes, limits: MediaLimits) -> ImageArray:
    """Decode an image; see `decode_image`."""
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


@contextmanager
def _opened(data: bytes, limits: Limits) -> Iterator[Image.Image]:
    """An image whose header is within the limits, its pixels freed at the end; errors inside become an `ImageError`."""
    _check_file(data, limits)
    # An icon's directory claims 256 × 256 pixels at most, and Pillow decodes what is inside while it opens the file.
    most = min(_MOST_INNER_PIXELS // 2, limits.max_pixels) if content_type(data) == ICON_TYPE else limits.max_pixels
    try:
        with _guarded(most), closing(Image.open(BytesIO(data), formats=_available())) as image:
            _check_size(_header(image), limits)
            _check_coded(image, coded_pixels(data), limits)
            yield image
    except ImageError:
        raise
    except UnidentifiedImageError:
        raise ImageError(f"not an image: {_content(data)}") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageTooLargeError(f"the image claims more than {most:,} pixels") from None
    except Exception as error:  # decoders raise a dozen kinds for a damaged file
        raise ImageError(f"cannot be decoded: {_sentence(error)}") from None


@contextmanager
def _guarded(max_pixels: int) -> Iterator[None]:
    """Have Pillow itself refuse what is far too large, before a decoder of it is made."""
    with _PILLOW:
        before = Image.MAX_IMAGE_PIXELS
        Image.MAX_IMAGE_PIXELS = max_pixels
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what a file's metadata lacks is no concern of ours
                yield
        finally:
            Image.MAX_IMAGE_PIXELS = before


def _file_content(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give the path of an image.") from None


def _available() -> list[str]:
    """The formats that this Pillow was built with."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def _header(image: Image.Image) -> ImageHeader:
    return ImageHeader(*image.size, image.format or "")


def _check_file(data: bytes, limits: Limits) -> None:
    if not data:
        raise ImageError("the file is empty")
    if len(data) > limits.max_bytes:
        raise ImageTooLargeError(f"the file has {len(data):,} bytes; at most {limits.max_bytes:,} are allowed")
    problem = parts_problem(data)
    if problem is not None:
        raise ImageTooLargeError(problem)


def _check_size(header: ImageHeader, limits: Limits) -> None:
    pixels = header.width * header.height
    claim = f"the image claims {header.width:,} × {header.height:,} pixels"
    if pixels > limits.max_pixels:
        raise ImageTooLargeError(f"{claim}; at most {limits.max_pixels:,} are allowed")
    if max(header.width, header.height) > limits.max_side:
        raise ImageTooLargeError(f"{claim}; a side may have {limits.max_side:,} at most")
    if limits.max_memory is not None and header.memory > limits.max_memory:
        most = limits.max_memory * pixels // header.memory
        raise ImageTooLargeError(f"{claim}; of its format at most {most:,} are allowed")


def _check_coded(image: Image.Image, pixels: int, limits: Limits) -> None:
    """Refuse an image that claims to be within the limits, while what it is coded with is not."""
    most = limits.max_pixels
    if limits.max_memory is not None:
        most = min(most, limits.max_memory // _BYTES_PER_PIXEL.get(image.format or "", _OTHERS_BYTES_PER_PIXEL))
    if pixels > most:
        claim = f"the image claims {image.width:,} × {image.height:,} pixels, but is coded with more"
        raise ImageTooLargeError(f"{claim}; of its format at most {most:,} are allowed")


def _content(data: bytes) -> str:
    unsupported = unsupported_format(data)
    if unsupported is not None:
        return f"the file {conversion_advice(unsupported)}"
    return "it holds text" if content_type(data).startswith("text/") else "its first bytes are of no known format"


def _sentence(error: Exception) -> str:
    return str(error).strip().rstrip(".").splitlines()[0] if str(error).strip() else type(error).__name__
