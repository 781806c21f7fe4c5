"""Thumbnails as they are stored: with a checksum, so that a flipped bit is told rather than shown."""

import struct
import zlib

from diptych._core.errors import DataError

_HEAD = struct.Struct("<4sI")
_SUM = struct.Struct("<I")


def sealed(thumbnail: bytes) -> bytes:
    """A thumbnail as it is stored: a WebP file says how long it is, and its checksum follows."""
    length = _length(thumbnail)
    if length is None or length != len(thumbnail):
        return thumbnail
    return thumbnail + _SUM.pack(zlib.crc32(thumbnail))


def unsealed(stored: bytes) -> bytes:
    """A thumbnail that was stored, by this version or by one that wrote no checksums.

    Raises:
        DataError: when it is not what was written.
    """
    length = _length(stored)
    if length is None or length == len(stored):
        return bytes(stored)
    if length + _SUM.size != len(stored) or _SUM.unpack(stored[length:])[0] != zlib.crc32(stored[:length]):
        raise damaged()
    return bytes(stored[:length])


def _length(file: bytes) -> int | None:
    """How long a WebP file says it is; None for another file."""
    if not isinstance(file, bytes) or len(file) < _HEAD.size or not file.startswith(b"RIFF"):
        return None
    return int(_HEAD.unpack(file[: _HEAD.size])[1]) + _HEAD.size


def is_whole(stored: bytes) -> bool:
    """Whether a stored thumbnail is what was written, as far as that can be told."""
    try:
        unsealed(stored)
    except DataError:
        return False
    return True


def damaged() -> DataError:
    """The error of a stored file that is not what was written."""
    return DataError(
        "the images of the index are damaged; run `diptych verify`, and restore a backup or build the index again."
    )
