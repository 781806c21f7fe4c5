"""Where raw items come from: folders and archives of files, kinds of media, content types, decoding, thumbnails.

Decoding needs the extras "images" and "audio": the readers of kinds are imported when they are asked for.
"""

from diptych.media.formats import (
    START_BYTES,
    THUMBNAIL_TYPE,
    content_problem,
    content_type,
)
from diptych.media.kinds import (
    KINDS,
    MediaError,
    MediaKind,
    MediaLimits,
    MediaReader,
    MediaTooLargeError,
    is_media_name,
    kind_of_content,
    kind_of_name,
    media_column,
    media_kind,
    read_raw,
)
from diptych.media.sources import (
    FolderSource,
    MediaSource,
    Place,
    RefusedNameError,
    checked_name,
    hash_places,
    open_source,
    reopen_source,
)

__all__ = [
    "KINDS",
    "START_BYTES",
    "THUMBNAIL_TYPE",
    "FolderSource",
    "MediaError",
    "MediaKind",
    "MediaLimits",
    "MediaReader",
    "MediaSource",
    "MediaTooLargeError",
    "Place",
    "RefusedNameError",
    "checked_name",
    "content_problem",
    "content_type",
    "hash_places",
    "is_media_name",
    "kind_of_content",
    "kind_of_name",
    "media_column",
    "media_kind",
    "open_source",
    "read_raw",
    "reopen_source",
]
