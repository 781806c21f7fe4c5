"""Thumbnails of an index: stored with a checksum, and known by signatures that tell near-duplicates.

A checksum tells a flipped bit rather than showing it. A signature is the same for the same image in another size, file
type or quality; embeddings cannot tell those, for a model may place all items of a class at one point.
"""

import struct
import threading
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from diptych._core.arrays import ImageArray
from diptych._core.errors import DataError
from diptych.index import Index

if TYPE_CHECKING:
    from diptych.search.media_store import MediaStore

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


_GREY_SIZE, _COLOUR_SIZE = (9, 8), (2, 2)
_LEAST_BRIGHTER = 2
"""Grey levels: the noise of an even surface decides nothing."""
_MOST_KEPT = 200_000


def signature(image: ImageArray) -> str:
    """The signature of an image as 40 hexadecimal digits.

    The first 16 are a difference hash: whether each of 8 × 8 places is clearly brighter than its right neighbour. The
    others are the mean colours of the four quarters.
    """
    opened = Image.fromarray(image)
    grey = np.asarray(opened.convert("L").resize(_GREY_SIZE, Image.Resampling.BOX), np.int16)
    bits = np.packbits(grey[:, :-1] > grey[:, 1:] + _LEAST_BRIGHTER)
    colours = np.asarray(opened.resize(_COLOUR_SIZE, Image.Resampling.BOX), np.uint8)
    return bits.tobytes().hex() + colours.tobytes().hex()


class Signatures:
    """The signatures of an index's images, computed when they are first asked for; threads may share it."""

    def __init__(self, index: Index, store: "MediaStore") -> None:
        self._index, self._store = index, store
        self._known: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, ids: Sequence[str]) -> list[str | None]:
        """The signatures of entries; None for those without an image."""
        hashes = [None if item is None else item.metadata.get("media") for item in self._index.get(ids)]
        return [None if hash is None else self._signature(id, hash) for id, hash in zip(ids, hashes, strict=True)]

    def _signature(self, id: str, hash: str) -> str | None:
        with self._lock:
            known = self._known.get(hash)
        if known is not None:
            return known
        small = self._store.thumbnail(id, hash)
        if small is None:
            return None
        with Image.open(BytesIO(small)) as opened:
            made = signature(np.asarray(opened.convert("RGB")))
        with self._lock:
            self._known[hash] = made
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return made
