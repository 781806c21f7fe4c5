"""Signatures of images, by which near-duplicates are found: the same image in another size, file type or quality.

Embeddings cannot tell them, for a model may place all items of a class at one point.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from io import BytesIO

import numpy as np
from PIL import Image

from diptych._core.arrays import ImageArray
from diptych.index import Index
from diptych.search.media_store import MediaStore

_GREY_SIZE, _COLOUR_SIZE = (9, 8), (2, 2)
_MOST_DIFFERENT_BITS, _MOST_DIFFERENT_COLOUR = 3, 5
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


def are_near(one: str, other: str) -> bool:
    """Whether two signatures are those of near-duplicates."""
    bits = (int(one[:16], 16) ^ int(other[:16], 16)).bit_count()
    colours = np.frombuffer(bytes.fromhex(one[16:] + other[16:]), np.uint8).reshape(2, -1).astype(np.int16)
    return bits <= _MOST_DIFFERENT_BITS and int(np.abs(colours[0] - colours[1]).max()) <= _MOST_DIFFERENT_COLOUR


class Signatures:
    """The signatures of an index's images, computed when they are first asked for; threads may share it."""

    def __init__(self, index: Index, store: MediaStore) -> None:
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
