"""Where raw items come from: media types, decoding, thumbnails; decoding images needs the extra "images"."""

from diptych.media.formats import (
    START_BYTES,
    UNSUPPORTED_SUFFIXES,
    content_problem,
    conversion_advice,
    is_image_name,
    is_unsupported_name,
    media_type,
)
from diptych.media.thumbnails import THUMBNAIL_TYPE, thumbnail

__all__ = [
    "START_BYTES",
    "THUMBNAIL_TYPE",
    "UNSUPPORTED_SUFFIXES",
    "content_problem",
    "conversion_advice",
    "is_image_name",
    "is_unsupported_name",
    "media_type",
    "thumbnail",
]
