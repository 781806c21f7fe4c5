"""Where raw items come from: folders and archives of files, content types, decoding, thumbnails.

Decoding images needs the extra "images"; it is imported from `diptych.media.decoding`.
"""

from diptych.media.formats import (
    START_BYTES,
    UNSUPPORTED_SUFFIXES,
    content_problem,
    content_type,
    conversion_advice,
    is_image_name,
    is_unsupported_name,
)
from diptych.media.sources import (
    MediaSource,
    Place,
    RefusedNameError,
    checked_name,
    hash_places,
    open_source,
    reopen_source,
)
from diptych.media.thumbnails import THUMBNAIL_TYPE, thumbnail

__all__ = [
    "START_BYTES",
    "THUMBNAIL_TYPE",
    "UNSUPPORTED_SUFFIXES",
    "MediaSource",
    "Place",
    "RefusedNameError",
    "checked_name",
    "content_problem",
    "content_type",
    "conversion_advice",
    "hash_places",
    "is_image_name",
    "is_unsupported_name",
    "open_source",
    "reopen_source",
    "thumbnail",
]
