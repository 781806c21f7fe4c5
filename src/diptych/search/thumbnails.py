"""Small copies of pictures, for grids and terminals; needs the extra "images"."""

import hashlib
from io import BytesIO

from diptych.features import Picture

LONGEST_SIDE = 256
THUMBNAIL_TYPE = "image/webp"
_TYPES = (
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (4, b"ftypavif", "image/avif"),
    (0, b"\0\0\0\x0cjP  ", "image/jp2"),
)


def thumbnail(picture: Picture) -> bytes:
    """A decoded picture as WebP of at most 256 pixels a side, without the metadata of the original."""
    from PIL import Image

    small = Image.fromarray(picture)
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    kept = BytesIO()
    small.save(kept, "WEBP", quality=82, method=2)
    return kept.getvalue()


def media_type(data: bytes) -> str:
    """What a picture's first bytes say it is; names are not asked.

    >>> media_type(b"GIF89a")
    'image/gif'
    """
    for offset, mark, name in _TYPES:
        if data[offset : offset + len(mark)] == mark:
            return name
    return "application/octet-stream"


def content_hash(data: bytes) -> str:
    """What a picture is known by in an index."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
