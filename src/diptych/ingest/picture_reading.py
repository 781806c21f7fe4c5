"""Read and decode the pictures of a source; needs the extra "images"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from diptych._core.arrays import ImageArray
from diptych.ingest.describing import Broken
from diptych.ingest.reusing import Keyed, Reuse
from diptych.ingest.row_cache import content_key
from diptych.media import MediaSource, Place, reopen_source
from diptych.media.decoding import ImageError, Limits, decode_image


def read_picture(source: MediaSource, place: Place, limits: Limits) -> ImageArray | Broken:
    """Read and decode one picture."""
    if place.size > limits.max_bytes:
        return _too_large(place, limits)
    try:
        return decode_image(source.read(place), limits)
    except ImageError as error:
        return Broken(str(error))
    except (OSError, MemoryError) as error:
        return _unreadable(error)


def read_keyed_picture(source: MediaSource, place: Place, limits: Limits, reuse: Reuse) -> Keyed | Broken:
    """Read one image, and decode it unless all of its rows are known by its bytes."""
    if place.size > limits.max_bytes:
        return _too_large(place, limits)
    try:
        data = source.read(place)
        return reuse.keyed(content_key(data, limits.max_pixels), lambda: decode_image(data, limits))
    except ImageError as error:
        return Broken(str(error))
    except (OSError, MemoryError) as error:
        return _unreadable(error)


def _too_large(place: Place, limits: Limits) -> Broken:
    return Broken(f"the file has {place.size:,} bytes; at most {limits.max_bytes:,} are allowed")


def _unreadable(error: Exception) -> Broken:
    return Broken(f"cannot be read ({getattr(error, 'strerror', None) or error})")


@dataclass(frozen=True)
class PictureStream:
    """Pictures decoded one at a time, as often as they are asked for; broken ones are passed over.

    Attributes:
        path: of the folder or the archive.
        kind: of the source.
        places: which pictures, in order.
        limits: what is decoded at all.
    """

    path: Path
    kind: str
    places: Sequence[Place]
    limits: Limits

    restarts: ClassVar[bool] = True

    def __iter__(self) -> Iterator[ImageArray]:
        with reopen_source(self.path, self.kind) as source:
            for place in self.places:
                picture = read_picture(source, place, self.limits)
                if not isinstance(picture, Broken):
                    yield picture

    def __length_hint__(self) -> int:
        return len(self.places)
