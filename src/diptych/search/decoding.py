"""Decode pictures, one at a time in a process."""

from pathlib import Path
from threading import Lock

from diptych._core.errors import DataError
from diptych.features import Picture
from diptych.features.raw_items import read_items

LARGEST_FILE = 200 * 2**20
_DECODING = Lock()
"""Pillow's limits are set for the whole process while a picture is decoded."""


def decoded(data: bytes, name: str = "the given bytes") -> Picture:
    """The pixels of a picture.

    Raises:
        DataError: when it is none, or one too large; the message calls it by the name given.
    """
    try:
        with _DECODING:
            picture: Picture = read_items("image", [data])[0]
    except DataError as error:
        reason = str(error).removeprefix("the given bytes: ").removesuffix("; give a picture.")
        raise DataError(f"{name}: {reason}; give a picture.") from None
    return picture


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
