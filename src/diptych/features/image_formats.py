"""Which files are images: told by the ends of their names and by their first bytes, without any image library."""

from collections.abc import Sequence

IMAGE_ENDINGS: Sequence[str] = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff"),
    *(".jp2", ".avif", ".ico", ".tga", ".pgm", ".ppm", ".pnm", ".svg"),
)
"""Names of image files that are decoded end so."""

FOREIGN_ENDINGS: dict[str, str] = {
    **dict.fromkeys((".heic", ".heif"), "HEIC"),
    **dict.fromkeys((".cr2", ".cr3", ".nef", ".arw", ".dng", ".orf", ".rw2", ".raf"), "a camera's raw format"),
    **dict.fromkeys((".psd", ".psb"), "Photoshop"),
    **dict.fromkeys((".eps", ".ai"), "PostScript"),
    **dict.fromkeys((".pdf",), "PDF"),
    **dict.fromkeys((".svgz",), "compressed SVG"),
    **dict.fromkeys((".jxl",), "JPEG XL"),
    **dict.fromkeys((".mp4", ".mov", ".avi", ".mkv", ".webm", ".m4v"), "a video"),
}
"""Names of files that show something but are not decoded end so; and what these files are."""

BEGINNING = 512
"""So many bytes of a file are enough to tell what it is."""

_FOREIGN_BRANDS = {
    **dict.fromkeys((b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"), "HEIC"),
    **dict.fromkeys((b"isom", b"mp42", b"mp41", b"qt  ", b"M4V ", b"avc1", b"iso2"), "a video"),
    b"crx ": "a camera's raw format",
}
_FOREIGN_STARTS = (
    (b"%!PS", "PostScript"),
    (b"%PDF", "PDF"),
    (b"8BPS", "Photoshop"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\0\0\0\x0cJXL ", "JPEG XL"),
    (b"\x1f\x8b", "compressed"),
    (b"PK\x03\x04", "a zip archive"),
)
_STARTS = (
    *(b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    *(b"\0\0\0\x0cjP  ", b"\xffO\xffQ", b"\0\0\1\0"),
)


def is_image_name(name: str) -> bool:
    """Whether a file's name ends like that of an image which can be decoded."""
    return name.lower().endswith(tuple(IMAGE_ENDINGS))


def is_foreign_name(name: str) -> bool:
    """Whether a file's name ends like that of something to look at which cannot be decoded."""
    return name.lower().endswith(tuple(FOREIGN_ENDINGS))


def foreign_format(start: bytes) -> str | None:
    """What a file is whose first bytes are of a known format that cannot be decoded; None for all others."""
    if start[4:8] == b"ftyp":
        return _FOREIGN_BRANDS.get(start[8:12])
    return next((name for mark, name in _FOREIGN_STARTS if start.startswith(mark)), None)


def conversion_advice(kind: str) -> str:
    """Why a format is not decoded and what to do about it."""
    return f"is {kind}, which is not decoded; convert it to JPEG or PNG"


def beginning_problem(start: bytes) -> str | None:
    """What is wrong with a file by its first bytes; None where it may be an image.

    It errs on the side of the file: what passes may still be damaged further on.
    """
    if not start:
        return "the file is empty"
    foreign = foreign_format(start)
    if foreign is not None:
        return conversion_advice(foreign)
    if start.startswith(_STARTS) or _is_webp(start) or _is_avif(start) or _is_portable(start) or _is_xml(start):
        return None
    if start[:BEGINNING].isascii() and b"\0" not in start:
        return "not an image: it holds text"
    return None  # TGA has no mark at its beginning


def _is_webp(start: bytes) -> bool:
    return start[:4] == b"RIFF" and start[8:12] == b"WEBP"


def _is_avif(start: bytes) -> bool:
    return start[4:8] == b"ftyp" and start[8:12] in (b"avif", b"avis")


def _is_portable(start: bytes) -> bool:
    return start[:1] == b"P" and start[1:2] in b"1234567" and start[2:3].isspace()


def _is_xml(start: bytes) -> bool:
    return start.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<")
