"""Read and decode images whose place on disk no message may name."""

from pathlib import Path

from diptych._core.arrays import ImageArray
from diptych._core.errors import DataError
from diptych.media.decoding import ImageError, decode_image

LARGEST_FILE = 200 * 2**20


def decoded(data: bytes, name: str = "the given bytes") -> ImageArray:
    """The pixels of an image.

    Raises:
        DataError: when it is none, or one too large; the message calls it by the name given.
    """
    try:
        return decode_image(data)
    except ImageError as error:
        raise DataError(f"{name}: {error}; give an image.") from None


def read_file(path: Path) -> bytes:
    """A file's content; the message of a failure holds its name, not its place."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise DataError(f"{path.name} cannot be read ({error.strerror}); give the path of a file.") from None
    if len(data) > LARGEST_FILE:
        raise DataError(f"{path.name} has more than {LARGEST_FILE:,} bytes; give a smaller file.")
    return data
