"""A first look at an image somebody sent, before anything is decoded; one image is decoded at a time."""

from diptych.media.decoding import ImageError, ImageTooLargeError, Limits, read_header
from diptych.serving.problems import Problem
from diptych.serving.settings import ServingSettings

MOST_DECODING_BYTES = 300 * 10**6
"""Of memory for one image."""


def check_picture(data: bytes, settings: ServingSettings) -> int:
    """Refuse what is no image or is too large, by its header alone; returns how many pixels it will be decoded to.

    Raises:
        Problem: 413 for too many bytes or pixels, 422 for what is no image.
    """
    if len(data) > settings.max_upload_bytes:
        sentence = f"the image has {len(data):,} bytes; at most {settings.max_upload_bytes:,} are read."
        raise Problem(413, "too_large", sentence)
    limits = Limits(settings.max_pixels, settings.max_upload_bytes, settings.max_side, MOST_DECODING_BYTES)
    try:
        return read_header(data, limits).decoded_pixels
    except ImageTooLargeError as error:
        raise Problem(413, "too_many_pixels", f"{error}.") from None
    except ImageError:
        raise Problem(422, "no_picture", "the file is no image this server can read.") from None
