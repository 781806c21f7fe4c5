"""A large image is read at a fraction of its size, whatever its mode, in little memory."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from diptych.media.decoding import ImageError, Limits, decode_image, read_header
from diptych.media.pixels import MOST_PIXELS, reduction, to_array

MODES = ["1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "I;16", "YCbCr"]
PEAK = """
import sys
from diptych.media.decoding import decode_image
data = open(sys.argv[1], "rb").read()
decode_image(open(sys.argv[2], "rb").read())

def status(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) / 1024

before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
shape = decode_image(data).shape
print(status("VmHWM") - before, *shape)
"""


def pattern(width: int, height: int) -> Image.Image:
    rng = np.random.default_rng(3)
    coarse = Image.fromarray(rng.integers(0, 255, (height // 50, width // 50, 4), dtype=np.uint8), "RGBA")
    return coarse.resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def whole(image: Image.Image) -> np.ndarray:
    """The same without strips: everything converted at once."""
    if image.mode == "I;16":
        return np.repeat((np.asarray(image).astype(float) / 257)[:, :, None], 3, axis=2)
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
    return np.asarray(image.convert("RGB")).astype(float)


def in_mode(image: Image.Image, mode: str) -> Image.Image:
    if mode == "I;16":
        return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    return image.convert("LA" if mode == "LA" else mode if mode == "RGBA" else "RGB").convert(mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_reduced_image_is_the_mean_of_its_blocks(mode) -> None:
    image = in_mode(pattern(1600, 1151), mode)
    assert image.mode == mode and reduction(1600, 1151) == 2
    small = to_array(image).astype(float)
    assert small.shape == (576, 800, 3)
    blocks = whole(image)[:1150].reshape(575, 2, 800, 2, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(small[:575], blocks, atol=1)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("size", [(60, 40), (1400, 1100)])
def test_every_orientation_is_undone(orientation, size) -> None:
    image = pattern(max(size[0], 100), max(size[1], 100)).resize(size).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(image, exif=exif)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    factor = reduction(*size)
    np.testing.assert_allclose(decode_image(data).astype(int), np.asarray(upright.reduce(factor)), atol=1)


@pytest.mark.parametrize("size", [(1, 1), (1, 30_000), (30_000, 1), (30_000, 3_000), (511, 2_000), (1_023, 1_023)])
def test_the_result_is_small_and_never_empty(size) -> None:
    factor = reduction(*size)
    width, height = (max(1, side // factor) for side in size)
    assert width * height <= MOST_PIXELS
    shape = to_array(Image.new("1", size)).shape
    assert shape[0] >= 1 and shape[1] >= 1 and shape[0] * shape[1] <= MOST_PIXELS * 1.2


def test_numbers_without_a_range_are_reduced_too() -> None:
    values = np.zeros((1200, 1600), dtype=np.float32)
    values[600:] = 1_000_000
    pixels = decode_image(encoded(Image.fromarray(values), "TIFF"))
    assert pixels.shape == (600, 800, 3)
    assert (pixels[:300] == 0).all() and (pixels[300:] == 255).all()


def test_a_side_is_limited_as_well_as_the_area() -> None:
    thin = encoded(Image.new("1", (40_000, 1)))
    with pytest.raises(ImageError, match=r"claims 40,000 × 1 pixels; a side may have 30,000 at most"):
        decode_image(thin)
    assert decode_image(thin, Limits(max_side=40_000)).shape[0] == 1


def test_the_memory_of_a_decoder_is_known_before_it_runs() -> None:
    for kind, bytes_per_pixel in (("PNG", 4), ("JPEG", 6), ("WEBP", 16)):
        assert read_header(encoded(Image.new("RGB", (20, 10)), kind)).memory == 200 * bytes_per_pixel


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure")
@pytest.mark.parametrize(("mode", "most"), [("1", 90), ("RGBA", 240)])
def test_a_small_file_with_many_pixels_takes_little_more_than_its_raster(tmp_path, mode, most) -> None:
    (tmp_path / "large").write_bytes(encoded(Image.new(mode, (7_000, 7_000))))
    (tmp_path / "warm").write_bytes(encoded(Image.new(mode, (1_200, 1_200))))
    command = [sys.executable, "-c", PEAK, str(tmp_path / "large"), str(tmp_path / "warm")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [int(side) for side in told[1:]] == [539, 539, 3]
    assert float(told[0]) < most
