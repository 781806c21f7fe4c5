"""File formats, recognised by a file's first bytes or by its name."""

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

AUDIO_SUFFIXES: Sequence[str] = (".wav", ".wave", ".flac", ".ogg", ".oga", ".opus", ".mp3")
"""Of sound files that can be decoded."""

UNSUPPORTED_AUDIO_SUFFIXES: Mapping[str, str] = {
    **dict.fromkeys((".m4a", ".aac", ".m4b"), "AAC"),
    **dict.fromkeys((".wma",), "WMA"),
    **dict.fromkeys((".aif", ".aiff", ".aifc"), "AIFF"),
    **dict.fromkeys((".mid", ".midi"), "MIDI, notes without a sound"),
    **dict.fromkeys((".amr",), "AMR"),
}
"""Of sound files that cannot be decoded, and what these files are."""

UNKNOWN_TYPE = "application/octet-stream"
SVG_TYPE = "image/svg+xml"
ICON_TYPE = "image/x-icon"
THUMBNAIL_TYPE = "image/webp"
"""Of the thumbnails of images."""
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
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"MThd", "audio/midi"),
    (b"#!AMR", "audio/amr"),
    (b"\x30\x26\xb2\x75", "audio/x-ms-wma"),
)
_BRANDS: Mapping[bytes, str] = {
    **dict.fromkeys((b"avif", b"avis"), "image/avif"),
    **dict.fromkeys((b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"), "image/heic"),
    **dict.fromkeys((b"isom", b"iso2", b"mp41", b"mp42", b"M4V ", b"avc1"), "video/mp4"),
    b"qt  ": "video/quicktime",
    **dict.fromkeys((b"M4A ", b"M4B "), "audio/mp4"),
    b"crx ": "image/x-canon-cr3",
}
"""Of the container that AVIF, HEIC and videos share."""

_CHUNKED: Mapping[tuple[bytes, bytes], str] = {
    (b"RIFF", b"WEBP"): "image/webp",
    **{(mark, b"WAVE"): "audio/wav" for mark in (b"RIFF", b"RIFX", b"RF64")},
    **{(b"FORM", mark): "audio/aiff" for mark in (b"AIFF", b"AIFC")},
}
"""Of files that begin with a mark, a length and the kind of what follows."""

_UNSUPPORTED: Mapping[str, str] = {
    "application/gzip": "compressed",
    "application/pdf": "PDF",
    "application/postscript": "PostScript",
    "application/zip": "a zip archive",
    "audio/aac": "AAC",
    "audio/aiff": "AIFF",
    "audio/amr": "AMR",
    "audio/midi": "MIDI, notes without a sound",
    "audio/mp4": "AAC",
    "audio/x-ms-wma": "WMA",
    "image/heic": "HEIC",
    "image/jxl": "JPEG XL",
    "image/vnd.adobe.photoshop": "Photoshop",
    "image/x-canon-cr3": "a camera's raw format",
    "video/mp4": "a video",
    "video/ogg": "a video",
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
    if (data[:4], data[8:12]) in _CHUNKED:
        return _CHUNKED[data[:4], data[8:12]]
    if data[:4] == b"OggS":
        return "video/ogg" if b"theora" in data[:START_BYTES] else "audio/ogg"
    if data[:1] == b"\xff" and (frame := _mpeg_frame(data)) is not None:
        return frame
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


def is_of_type(content: str, kind: str) -> bool:
    """Return whether a content type is that of an image, a sound and so on.

    >>> is_of_type("audio/wav", "audio"), is_of_type("image/png", "audio")
    (True, False)
    """
    return content.startswith(f"{kind}/")


def conversion_advice(kind: str, formats: str = "JPEG or PNG") -> str:
    """Say that a format is not decoded and what to do about it."""
    return f"is {kind}, which is not decoded; convert it to {formats}"


def content_problem(start: bytes) -> str | None:
    """Say what is wrong with a file by its first bytes; None where it may be an image.

    It errs on the side of the file: what passes may still be damaged further on.
    """
    if not start:
        return "the file is empty"
    content = content_type(start)
    if is_of_type(content, "audio"):
        return "not an image: it holds a sound"
    unsupported = unsupported_format(start)
    if unsupported is not None:
        return conversion_advice(unsupported)
    return "not an image: it holds text" if content == _TEXT else None


def _mpeg_frame(data: bytes) -> str | None:
    """The content type of MPEG audio without a tag, by the fields of its first frame; None where they make no sense."""
    if len(data) < 4 or data[1] & 0xE0 != 0xE0:
        return None
    version, layer = data[1] >> 3 & 3, data[1] >> 1 & 3
    if layer == 0:
        return "audio/aac" if data[1] & 0xF6 == 0xF0 else None
    return "audio/mpeg" if version != 1 and data[2] >> 4 != 15 and data[2] >> 2 & 3 != 3 else None


def _container_type(data: bytes) -> str:
    """The content type by the brands of an ISO base media file: AVIF and HEIC may both call themselves "mif1"."""
    brand = data[8:12]
    if brand in (b"mif1", b"msf1"):
        size = int.from_bytes(data[:4], "big")
        compatible = data[16 : min(size, START_BYTES)]
        if {b"avif", b"avis"} & {compatible[place : place + 4] for place in range(0, len(compatible), 4)}:
            return "image/avif"
    return _BRANDS.get(brand, UNKNOWN_TYPE)
