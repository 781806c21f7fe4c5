"""Whatever somebody sends becomes plain bytes or a reason."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from diptych.media.decoding import ImageError, Limits, decode_image

HALVES = np.zeros((8, 12, 3), dtype=np.uint8)
HALVES[:4] = (200, 30, 40)
HALVES[4:] = (10, 60, 250)


def encoded(image, kind="PNG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def png_header(width, height) -> bytes:
    """A PNG that claims a size and holds next to nothing."""

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return start + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


def test_a_plain_image_is_itself() -> None:
    image = decode_image(encoded(Image.fromarray(HALVES)))
    assert image.dtype == np.uint8 and image.flags.c_contiguous
    np.testing.assert_array_equal(image, HALVES)


@pytest.mark.parametrize(("orientation", "turn"), [(3, 2), (6, 3), (8, 1)])
def test_exif_rotation_is_undone(orientation, turn) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = decode_image(encoded(Image.fromarray(HALVES), exif=exif))
    np.testing.assert_array_equal(image, np.rot90(HALVES, turn))


def test_cmyk_becomes_rgb() -> None:
    data = encoded(
        Image.fromarray(HALVES).resize((48, 32), Image.Resampling.NEAREST).convert("CMYK"), "JPEG", quality=95
    )
    image = decode_image(data).astype(int)
    assert image.shape == (32, 48, 3)
    np.testing.assert_allclose(image[4, 24], HALVES[0, 0], atol=12)
    np.testing.assert_allclose(image[28, 24], HALVES[7, 0], atol=12)


def test_a_transparent_palette_stands_on_white() -> None:
    image = Image.new("P", (4, 2), 1)
    image.putpalette([9, 9, 9, 200, 30, 40])
    image.putpixel((0, 0), 0)
    image = decode_image(encoded(image, transparency=0))
    assert image[0, 0].tolist() == [255, 255, 255]
    assert image[1, 3].tolist() == [200, 30, 40]


def test_half_transparency_is_mixed_with_white() -> None:
    image = decode_image(encoded(Image.new("RGBA", (2, 2), (0, 0, 0, 128))))
    np.testing.assert_allclose(image, 127, atol=1)


def test_an_animation_gives_its_first_frame() -> None:
    frames = [Image.new("RGB", (6, 6), colour) for colour in ("red", "lime", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode_image(data)[3, 3].tolist() == [255, 0, 0]


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(kind) -> None:
    values = np.array([[0, 257, 32768, 65535]], dtype=np.uint16).repeat(2, axis=0)
    image = decode_image(encoded(Image.fromarray(values), kind))
    assert image[0, :, 0].tolist() == [0, 1, 128, 255]
    assert (image == image[:, :, :1]).all()


def test_numbers_without_a_range_find_one() -> None:
    unit = Image.fromarray(np.array([[0.0, 0.5, 1.0]], dtype=np.float32))
    assert decode_image(encoded(unit, "TIFF"))[0, :, 0].tolist() == [0, 128, 255]
    wide = Image.fromarray(np.array([[0, 400_000, 1_000_000, -7]], dtype=np.int32))
    assert decode_image(encoded(wide, "TIFF"))[0, :, 0].tolist() == [0, 102, 255, 0]


@pytest.mark.parametrize("mode", ["1", "L", "LA"])
def test_grey_is_grey(mode) -> None:
    image = decode_image(encoded(Image.fromarray(HALVES).convert(mode)))
    assert image.shape == HALVES.shape
    assert (image == image[:, :, :1]).all()


def test_large_jpegs_are_decoded_small_and_small_ones_whole() -> None:
    large = decode_image(encoded(Image.new("RGB", (4400, 2200), "teal"), "JPEG"))
    assert large.shape == (550, 1100, 3)
    assert decode_image(encoded(Image.new("RGB", (1000, 900), "teal"), "JPEG")).shape == (900, 1000, 3)


@pytest.mark.parametrize("size", [(60_000, 60_000), (12_000, 9_000)])
def test_a_bomb_is_not_opened(size) -> None:
    with pytest.raises(ImageError, match=r"claims .*pixels"):
        decode_image(png_header(*size))


def test_limits_are_the_callers() -> None:
    data = encoded(Image.fromarray(HALVES))
    with pytest.raises(ImageError, match=r"claims more than 95 pixels|claims 12 × 8 pixels; at most 95"):
        decode_image(data, Limits(max_pixels=95))
    decode_image(data, Limits(max_pixels=96))
    with pytest.raises(ImageError, match="at most 20 are allowed"):
        decode_image(data, Limits(max_bytes=20))
    before = Image.MAX_IMAGE_PIXELS
    decode_image(data)
    assert before == Image.MAX_IMAGE_PIXELS


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"this is a text and no image at all", "not an image: it holds text"),
        (b"\x00\x01\x02" * 40, "no known format"),
        (encoded(Image.effect_noise((64, 64), 80), "JPEG")[:900], "cannot be decoded: .*truncated"),
        (encoded(Image.fromarray(HALVES))[:50], "cannot be decoded|not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image"),
    ],
    ids=["empty", "text", "bytes", "truncated jpeg", "truncated png", "postscript"],
)
def test_what_is_broken_says_why(data, reason) -> None:
    with pytest.raises(ImageError, match=reason):
        decode_image(data)
