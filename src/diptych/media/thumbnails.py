"""Small copies of images, for result grids and terminals; needs the extra "images"."""

from io import BytesIO

from diptych._core.arrays import ImageArray

LONGEST_SIDE = 256
THUMBNAIL_TYPE = "image/webp"


def thumbnail(image: ImageArray) -> bytes:
    """Encode a decoded image as WebP of at most 256 pixels a side, without the metadata of the original."""
    from PIL import Image

    small = Image.fromarray(image)
    small.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    encoded = BytesIO()
    small.save(encoded, "WEBP", quality=82, method=2)
    return encoded.getvalue()
