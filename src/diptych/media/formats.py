"""File formats, told by a file's first bytes or by its name; no image library is needed."""

from collections.abc import Mapping, Sequence

IMAGE_SUFFIXES: Sequence[str] = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff"),
    *(".jp2", ".avif", ".ico", ".tga", ".pgm", ".ppm", ".pnm", ".svg"),
)
"""Of image files that can be decoded."""

UNSUPPORTED_SUFFIXES: Mapping[str, str] = {
    **dict.fromkeys((".heic", ".heif"), "HEIC"),
    **dict.fromkeys((".cr2", ".cr3", ".nef", ".arw", ".dng", ".orf", ".rw2", ".raf"), "a camera's raw format"),
    **dict.fromkeys((".psd", ".psb"), "Photoshop"),
    **dict.fromkeys((".eps", ".ai"), "PostScript"),
    **dict.fromkeys((".pdf",), "PDF"),
    **dict.fromkeys((".svgz",), "compressed SVG"),
    **dict.fromkeys((".jxl",), "JPEG XL"),
    **dict.fromkeys((".mp4", ".mov", ".avi", ".mkv", ".webm", ".m4v"), "a video"),
}
"""Of visual files that cannot be decoded, and what these files are."""

UNKNOWN_TYPE = "application/octet-stream"
SVG_TYPE = "image/svg+xml"
ICON_TYPE = "image/x-icon"
START_BYTES = 512
"""So many bytes of a file are enough to tell its content type, unless an SVG begins with a long comment."""

_SVG_START_BYTES = 4096
_BLANK = b"\xef\xbb\xbf\xff\xfe \t\r\n"
_TEXT, _XML = "text/plain", "text/xml"

_SIGNATURES: Sequence[tuple[bytes, str]] = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    *((mark, "image/tiff") for mark in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")),
    *((mark, "image/jp2") for mark in (b"\0\0\0\x0cjP  ", b"\xffO\xffQ")),
    (b"\0\0\1\0", ICON_TYPE),
    *((f"P{digit}{space}".encode(), "image/x-portable-anymap") for digit in "123456f" for space in " \t\r\n\v\f"),
    (b"%!PS", "application/postscript"),
    (b"%PDF", "application/pdf"),
    (b"8BPS", "image/vnd.adobe.photoshop"),
    *((mark, "image/jxl") for mark in (b"\xff\x0a", b"\0\0\0\x0cJXL ")),
    (b"\x1f\x8b", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
)
_BRANDS: Mapping[bytes, str] = {
    **dict.fromkeys((b"avif", b"avis"), "image/avif"),
    **dict.fromkeys((b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"), "image/heic"),
    **dict.fromkeys((b"isom", b"iso2", b"mp41", b"mp42", b"M4V ", b"avc1"), "video/mp4"),
    b"qt  ": "video/quicktime",
    b"crx ": "image/x-canon-cr3",
}
"""Of the container that AVIF, HEIC and videos share."""

_UNSUPPORTED: Mapping[str, str] = {
    "application/gzip": "compressed",
    "application/pdf": "PDF",
    "application/postscript": "PostScript",
    "application/zip": "a zip archive",
    "image/heic": "HEIC",
    "image/jxl": "JPEG XL",
    "image/vnd.adobe.photoshop": "Photoshop",
    "image/x-canon-cr3": "a camera's raw format",
    "video/mp4": "a video",
    "video/quicktime": "a video",
}


def content_type(data: bytes) -> str:
    r"""Return the content type (MIME) of a file by its first bytes.

    TGA has no signature, so it is among what is unknown.

    >>> content_type(b"GIF89a"), content_type(b"\0\0\0")
    ('image/gif', 'application/octet-stream')
    """
    if data[4:8] == b"ftyp":
        return _container_type(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    for mark, name in _SIGNATURES:
        if data.startswith(mark):
            return name
    start = data[:_SVG_START_BYTES].replace(b"\0", b"").lstrip(_BLANK)
    if start.startswith(b"<"):
        return SVG_TYPE if b"<svg" in start.lower() else _XML
    return _TEXT if data and data[:START_BYTES].isascii() and b"\0" not in data[:START_BYTES] else UNKNOWN_TYPE


def unsupported_format(data: bytes) -> str | None:
    """Name the format of a file that is known but cannot be decoded; None for all others."""
    return _UNSUPPORTED.get(content_type(data))


def is_image_name(name: str) -> bool:
    """Return whether a file's name ends like that of an image which can be decoded."""
    return name.lower().endswith(tuple(IMAGE_SUFFIXES))


def is_unsupported_name(name: str) -> bool:
    """Return whether a file's name ends like that of a visual file which cannot be decoded."""
    return name.lower().endswith(tuple(UNSUPPORTED_SUFFIXES))


def conversion_advice(kind: str) -> str:
    """Say that a format is not decoded and what to do about it."""
    return f"is {kind}, which is not decoded; convert it to JPEG or PNG"


def content_problem(start: bytes) -> str | None:
    """Say what is wrong with a file by its first bytes; None where it may be an image.

    It errs on the side of the file: what passes may still be damaged further on.
    """
    if not start:
        return "the file is empty"
    unsupported = unsupported_format(start)
    if unsupported is not None:
        return conversion_advice(unsupported)
    return "not an image: it holds text" if content_type(start) == _TEXT else None


def _container_type(data: bytes) -> str:
    """The content type by the brands of an ISO base media file: AVIF and HEIC may both call themselves "mif1"."""
    brand = data[8:12]
    if brand in (b"mif1", b"msf1"):
        size = int.from_bytes(data[:4], "big")
        compatible = data[16 : min(size, START_BYTES)]
        if {b"avif", b"avis"} & {compatible[place : place + 4] for place in range(0, len(compatible), 4)}:
            return "image/avif"
    return _BRANDS.get(brand, UNKNOWN_TYPE)
