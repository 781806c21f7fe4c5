"""File formats, recognised by a file's first bytes or by its name, and their parts, counted without decoding."""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence

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


MOST_PARTS = 200_000
"""Of one image. What takes a decoder longer, or more memory, than a chunk of a PNG counts as several."""
_SCAN, _TILE, _CODE_BLOCK, _COMMENT = 2_000, 40, 2, 200
_JPEG_MARKER, _JPEG_SHORT = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]"), frozenset((0x01, *range(0xD0, 0xDA)))
_J2K_START, _J2K_HEAD = b"\xff\x4f\xff\x51", frozenset(b"PQRSUWXY\\]^_`acdtuwx\x90")
_TIFF_NUMBERS = frozenset((3, 4, 5, *range(8, 19)))


def parts_problem(data: bytes) -> str | None:
    """Say that an image has far more parts than its decoder should be given; None where it may be decoded.

    The pixels that a header claims do not bound a decoder's work: there may be thousands of scans of a few bytes, each
    applied to the whole image, tiles or code blocks of one pixel, or millions of blocks of metadata.
    """
    counted = next((count for marks, count in _COUNTED if data.startswith(marks)), None)
    total = 0
    try:
        for parts in counted(data) if counted is not None else ():
            total += parts
            if total > MOST_PARTS:
                return "the image consists of too many parts to be decoded; save it again in a common format"
    except (struct.error, IndexError):
        pass  # cut off: the decoder will say so
    return None


def _jpeg_parts(data: bytes) -> Iterator[int]:
    """Segments before the first scan, and scans: each is applied to all pixels, however short it is."""
    place = 2
    while data[place : place + 2] != b"\xff\xda":
        yield 1
        if data[place] != 0xFF or data[place + 1] in (0x00, 0xFF):
            place += 1
        else:
            place += 2 + (0 if data[place + 1] in _JPEG_SHORT else struct.unpack_from(">H", data, place + 2)[0])
    if data.count(b"\xff\xda", place) * _SCAN <= MOST_PARTS:
        return
    for found in _JPEG_MARKER.finditer(data, place):
        if found[0] == b"\xff\xd9":
            return
        yield _SCAN if found[0] == b"\xff\xda" else 1


def _png_parts(data: bytes) -> Iterator[int]:
    place = 8
    while data[place + 4 : place + 8] != b"IEND":
        yield 1
        place += 12 + struct.unpack_from(">I", data, place)[0]


def _gif_parts(data: bytes) -> Iterator[int]:
    """The blocks of what stands before the first frame."""
    place = 13 + (3 << ((data[10] & 7) + 1) if data[10] & 0x80 else 0)
    while data[place] not in b",;":
        yield 1
        if data[place] == ord("!"):
            place += 2
            while data[place]:
                yield 1
                place += 1 + data[place]
        place += 1


def _tiff_parts(data: bytes) -> Iterator[int]:
    """The numbers in each tag of the first directory, strips and tiles among them."""
    order = "<" if data[:1] == b"I" else ">"
    large = data[2] == 43
    (place,) = struct.unpack_from(f"{order}Q" if large else f"{order}I", data, 8 if large else 4)
    (tags,) = struct.unpack_from(f"{order}Q" if large else f"{order}H", data, place)
    for number in range(min(tags, MOST_PARTS + 1)):
        at = place + (8 + 20 * number if large else 2 + 12 * number)
        _, kind, count = struct.unpack_from(f"{order}HHQ" if large else f"{order}HHI", data, at)
        yield count if kind in _TIFF_NUMBERS else 1


def _jpeg2000_parts(data: bytes) -> Iterator[int]:
    """Tiles, and the code blocks of all components, by the smallest size that any header states."""
    start = data.find(_J2K_START)
    while start >= 0:
        place, values = start + 4, struct.unpack_from(">HH8IH", data, start + 4)
        width, height, channels = values[2] - values[4], values[3] - values[5], values[10]
        yield _TILE * -(-width // max(1, values[6])) * -(-height // max(1, values[7]))
        tile, length = start, 0
        while (mark := data[place - 2 : place])[:1] == b"\xff":
            if mark[1] in (0x52, 0x53):
                at = place + (7 if mark[1] == 0x52 else 4 if channels < 257 else 5)
                sizes = [data[at + 1] % 16 + data[at + 2] % 16 + 4]
                if data[place + 2 if mark[1] == 0x52 else at - 1] & 1:
                    sizes += [max(0, size % 16 + size // 16 - 2) for size in data[at + 5 : at + 6 + data[at] % 33]]
                yield _CODE_BLOCK * channels * (width * height >> min(sizes))
            if mark[1] == 0x90:
                tile, (length,) = place - 2, struct.unpack_from(">I", data, place + 4)
            if mark[1] == 0x93:
                place = tile + max(length, place - tile) + 2 if length else len(data)
            elif mark[1] in _J2K_HEAD:
                place += 2 + struct.unpack_from(">H", data, place)[0]
            else:  # the end, or what might hide something from whoever reads on
                yield 0 if mark[1] == 0xD9 else MOST_PARTS + 1
                break
            yield 1
        start = data.find(_J2K_START, start + 4)


_COUNTED: Sequence[tuple[tuple[bytes, ...], Callable[[bytes], Iterator[int]]]] = (
    ((b"\xff\xd8\xff",), _jpeg_parts),
    ((b"\x89PNG\r\n\x1a\n",), _png_parts),
    ((b"GIF87a", b"GIF89a"), _gif_parts),
    ((b"II*\0", b"II+\0", b"II\0*", b"MM\0*", b"MM\0+", b"MM*\0"), _tiff_parts),
    ((b"P1", b"P2", b"P3"), lambda data: iter((_COMMENT * data.count(b"#"),))),
    ((b"\xffO\xffQ", b"\0\0\0\x0cjP  "), _jpeg2000_parts),
)
