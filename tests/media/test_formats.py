"""One sniffer for every format, which agrees with the decoder."""

import io

import numpy as np
import pytest
from PIL import Image

from diptych.media import KINDS, content_problem, content_type
from diptych.media.decoding import FORMATS, ImageError, decode_image
from diptych.media.formats import IMAGE_SUFFIXES, UNSUPPORTED_SUFFIXES, unsupported_format

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
PIXELS = np.random.default_rng(0).integers(0, 256, (8, 12, 3), dtype=np.uint8)


def encoded(kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(PIXELS).save(buffer, kind, **options)
    return buffer.getvalue()


def container(brand: bytes, *compatible: bytes) -> bytes:
    size = 16 + 4 * len(compatible)
    return size.to_bytes(4, "big") + b"ftyp" + brand + b"\0\0\0\0" + b"".join(compatible) + b"\0\0\0\0meta"


def portable(letter: str) -> bytes:
    """A portable map of 2 × 2 pixels: bits, greys or colours, as text or as bytes."""
    head = f"P{letter}\n2 2\n".encode()
    match letter:
        case "1":
            return head + b"0 1 1 0\n"
        case "2":
            return head + b"255\n0 1 2 3\n"
        case "3":
            return head + b"255\n" + b"0 1 2 " * 4
        case "4":
            return head + b"\x40\x80"
        case "5":
            return head + b"255\n" + bytes(range(4))
        case "6":
            return head + b"255\n" + bytes(range(12))
    return head + b"-1.0\n" + np.zeros(4, dtype="<f4").tobytes()


DECODED = {
    "JPEG": (encoded("JPEG"), "image/jpeg"),
    "progressive JPEG": (encoded("JPEG", progressive=True), "image/jpeg"),
    "PNG": (encoded("PNG"), "image/png"),
    "GIF": (encoded("GIF"), "image/gif"),
    "WEBP": (encoded("WEBP"), "image/webp"),
    "lossless WEBP": (encoded("WEBP", lossless=True), "image/webp"),
    "BMP": (encoded("BMP"), "image/bmp"),
    "TIFF": (encoded("TIFF"), "image/tiff"),
    "big TIFF": (encoded("TIFF", big_tiff=True), "image/tiff"),
    "JPEG2000": (encoded("JPEG2000"), "image/jp2"),
    "JPEG2000 stream": (encoded("JPEG2000", no_jp2=True), "image/jp2"),
    "ICO": (encoded("ICO", sizes=[(8, 8)]), "image/x-icon"),
    "TGA": (encoded("TGA"), "application/octet-stream"),
    "SVG": (SVG, "image/svg+xml"),
    "SVG with a prologue": (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a -->\n' + SVG, "image/svg+xml"),
    "SVG in UTF-16": (SVG.decode().encode("utf-16"), "image/svg+xml"),
    **{f"PPM P{letter}": (portable(letter), "image/x-portable-anymap") for letter in "123456f"},
}
if "AVIF" in Image.SAVE or (Image.init() and "AVIF" in Image.SAVE):
    DECODED["AVIF"] = encoded("AVIF"), "image/avif"
    DECODED["AVIF as mif1"] = encoded("AVIF").replace(b"ftypavif", b"ftypmif1", 1), "image/avif"

UNSUPPORTED = {
    "HEIC": (container(b"heic", b"mif1"), "image/heic", "HEIC"),
    "HEIF": (container(b"mif1", b"heic"), "image/heic", "HEIC"),
    "MP4": (container(b"isom", b"mp41"), "video/mp4", "a video"),
    "MOV": (container(b"qt  "), "video/quicktime", "a video"),
    "CR3": (container(b"crx "), "image/x-canon-cr3", "a camera's raw format"),
    "PDF": (b"%PDF-1.7\n", "application/pdf", "PDF"),
    "EPS": (b"%!PS-Adobe-3.0 EPSF-3.0\n", "application/postscript", "PostScript"),
    "PSD": (b"8BPS\0\1", "image/vnd.adobe.photoshop", "Photoshop"),
    "JXL": (b"\xff\x0a\0\0", "image/jxl", "JPEG XL"),
    "JXL box": (b"\0\0\0\x0cJXL \r\n\x87\n", "image/jxl", "JPEG XL"),
    "SVGZ": (b"\x1f\x8b\x08\0", "application/gzip", "compressed"),
    "ZIP": (b"PK\x03\x04\x14\0", "application/zip", "a zip archive"),
}

NO_IMAGES = {
    "text": (b"hello there", "text/plain", "it holds text"),
    "HTML": (b"<!doctype html><p>hello", "text/xml", None),
    "sound": (b"RIFF\x24\0\0\0WAVEfmt ", "audio/wav", "it holds a sound"),
    "zeros": (b"\0" * 64, "application/octet-stream", None),
    "nothing": (b"", "application/octet-stream", "the file is empty"),
}


@pytest.mark.parametrize("name", DECODED)
def test_what_is_decoded_is_recognised(name) -> None:
    data, kind = DECODED[name]
    assert content_type(data) == kind
    assert content_problem(data[:512]) is None and unsupported_format(data) is None
    assert decode_image(data).shape[2] == 3


def test_every_format_of_the_decoder_is_tested() -> None:
    Image.init()
    tested = {format for format in FORMATS for name in DECODED if format in name.split()}
    assert tested == {format for format in FORMATS if format in Image.OPEN}


@pytest.mark.parametrize("name", [name for name in DECODED if "SVG" not in name and name != "TGA"])
def test_the_sniffer_and_the_image_library_agree(name) -> None:
    data, kind = DECODED[name]
    with Image.open(io.BytesIO(data)) as image:
        assert Image.MIME[image.format] == kind


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_is_not_decoded_is_named(name) -> None:
    data, kind, words = UNSUPPORTED[name]
    assert content_type(data) == kind
    assert content_problem(data) == f"is {words}, which is not decoded; convert it to JPEG or PNG"
    with pytest.raises(ImageError, match=f"is {words}, which is not decoded"):
        decode_image(data)


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_image_is_not_taken_for_one(name) -> None:
    data, kind, problem = NO_IMAGES[name]
    assert content_type(data) == kind
    found = content_problem(data)
    assert found is None if problem is None else problem in found
    with pytest.raises(ImageError):
        decode_image(data)


def test_names_are_told_by_their_ends() -> None:
    image = KINDS["image"]
    assert all(image.has_name(f"a/B{suffix.upper()}") for suffix in IMAGE_SUFFIXES)
    assert all(image.name_problem(f"a/B{suffix.upper()}") for suffix in UNSUPPORTED_SUFFIXES)
    assert not set(IMAGE_SUFFIXES) & set(UNSUPPORTED_SUFFIXES)
    assert not image.has_name("x.txt") and image.name_problem("x.txt") is None
