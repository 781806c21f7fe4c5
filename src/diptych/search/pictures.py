"""Bring a dataset's pictures into an index: a thumbnail each, and a note of where the original is."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from diptych._core.errors import DataError
from diptych.data import Dataset, media_of
from diptych.media import MediaSource, thumbnail
from diptych.search.decoding import LARGEST_FILE, decoded
from diptych.search.media_store import MediaStore, StoredPicture, content_hash

SOURCE_NUMBER = 0
"""A dataset has one source of pictures."""
_AT_ONCE = 64
"""Originals that are held in memory before they are stored."""


class PictureTaker:
    """Reads pictures by the names a dataset gives them; the source refuses names that lead out of it."""

    def __init__(self, source: MediaSource, store: MediaStore, *, keep_originals: bool = False) -> None:
        self._source = source
        self._store = store
        self._keep_originals = keep_originals

    def take(self, ids: Sequence[str], names: Sequence[str | None]) -> dict[str, str]:
        """Store the thumbnails of some items.

        Returns:
            The hash of the picture by id, for those whose picture could be read.
        """
        owners: dict[str, list[str]] = {}
        for id, name in zip(ids, names, strict=True):
            if name is not None:
                owners.setdefault(name, []).append(id)
        hashes: dict[str, str] = {}
        read = self._read(list(owners))
        while some := list(islice(read, _AT_ONCE)):
            pictures = [
                StoredPicture(
                    id, content_hash(data), small, SOURCE_NUMBER, name, data if self._keep_originals else None
                )
                for name, data, small in some
                for id in owners[name]
            ]
            self._store.put(pictures)
            hashes |= {picture.id: picture.hash for picture in pictures}
        return hashes

    def _read(self, names: Sequence[str]) -> Iterator[tuple[str, bytes, bytes]]:
        """The name, bytes and thumbnail of each picture that can be decoded, in the order that suits the source."""
        places = []
        for name in names:
            try:
                places.append((self._source.locate(name), name))
            except DataError:
                continue
        name_of = {place.name: name for place, name in places}
        for place in self._source.in_order([place for place, _ in places]):
            try:
                data = self._source.read(place) if place.size <= LARGEST_FILE else b""
                yield name_of[place.name], data, thumbnail(decoded(data))
            except (DataError, OSError):
                continue


@contextmanager
def picture_taker(
    dataset: Dataset, store: MediaStore, *, keep_originals: bool = False
) -> Iterator[PictureTaker | None]:
    """Open a dataset's pictures; None where it knows none, or they have moved."""
    try:
        source = media_of(dataset)
    except DataError:
        yield None
        return
    with source:
        yield PictureTaker(source, store, keep_originals=keep_originals)
