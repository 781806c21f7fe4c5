"""Files of a few kilobytes that hold millions of pixels, decoded by many threads: memory stays bounded."""

import io
import struct
import subprocess
import sys
import threading
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from diptych.media.decoding import ImageError, ImageTooLargeError, Limits, decode_image, read_header

MOST_GROWTH_MB = 300
CHILD = """
import sys, threading
from pathlib import Path
from diptych._core.processes import give_memory_back
from diptych.media.decoding import ImageError, Limits, decode_image

give_memory_back()

def megabytes(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) / 1024

limits = Limits(max_pixels=50_000_000, max_memory=300 * 10**6)
files = [path.read_bytes() for path in sorted(Path(sys.argv[1]).iterdir())]
decode_image(files[0], limits)  # what is loaded once is no growth
results = []

def work(number):
    for data in files[number::int(sys.argv[2])]:
        try:
            results.append(decode_image(data, limits).size < 5_000_000)
        except ImageError:
            results.append(None)

before = megabytes("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
threads = [threading.Thread(target=work, args=(number,)) for number in range(int(sys.argv[2]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(megabytes("VmHWM") - before, results.count(True), results.count(None), results.count(False))
"""


def encoded(mode: str, size: tuple[int, int], kind: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size).save(buffer, kind, **options)
    return buffer.getvalue()


def icon_with(inner: bytes) -> bytes:
    """An icon whose directory says 16 × 16 pixels, whatever is inside."""
    return struct.pack("<HHH", 0, 1, 1) + struct.pack("<BBBBHHII", 16, 16, 0, 0, 1, 32, len(inner), 22) + inner


def thin_bitmap(width: int) -> bytes:
    """A 1-bit PNG of one row, written without holding its pixels."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    row = zlib.compress(b"\0" * (1 + (width + 7) // 8), 9)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 1, 0, 0, 0, 0))
    return start + chunk(b"IDAT", row) + chunk(b"IEND", b"")


def test_a_row_of_millions_of_pixels_is_refused_by_its_header() -> None:
    data = thin_bitmap(49_000_000)
    assert len(data) < 10_000
    with pytest.raises(ImageTooLargeError, match=r"claims 49,000,000 × 1 pixels; a side may have 30,000 at most"):
        decode_image(data)


def test_what_a_decoder_needs_is_limited_too() -> None:
    data = encoded("RGB", (500, 400), "WEBP")
    assert read_header(data).memory == 500 * 400 * 16
    with pytest.raises(ImageTooLargeError, match=r"claims 500 × 400 pixels; of its format at most 62,500 are allowed"):
        decode_image(data, Limits(max_memory=1_000_000))
    assert decode_image(data, Limits(max_memory=3_200_000)).shape == (400, 500, 3)


def test_an_icon_may_not_hold_far_more_than_it_claims() -> None:
    with pytest.raises(ImageError, match=r"more than .* pixels"):
        decode_image(icon_with(encoded("1", (7_000, 7_000))))
    assert decode_image(icon_with(encoded("RGBA", (64, 64)))).shape == (64, 64, 3)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure")
def test_any_mix_of_images_keeps_within_the_memory_of_one(tmp_path) -> None:
    refused = [thin_bitmap(49_000_000), encoded("1", (7_100, 7_100)), icon_with(encoded("1", (7_000, 7_000)))]
    refused += [encoded("RGB", (5_000, 4_000), "WEBP")]
    large = [encoded(mode, (7_000, 7_000)) for mode in ("1", "RGBA")]
    large += [encoded("RGB", (3_000, 3_000), "WEBP"), encoded("RGB", (7_000, 7_000), "JPEG", progressive=True)]
    small = [encoded(mode, (2_000, 2_000)) for mode in ("1", "L", "RGB", "RGBA")] * 3
    for number, data in enumerate([encoded("RGB", (600, 600)), *large, *refused, *small]):
        (tmp_path / f"{number:03d}").write_bytes(data)
    command = [sys.executable, "-c", CHILD, str(tmp_path), "8"]
    growth, decoded, failed, oversized = subprocess.run(command, capture_output=True, check=True).stdout.split()
    assert (int(decoded), int(failed), int(oversized)) == (1 + len(large) + len(small), len(refused), 0)
    assert float(growth) < MOST_GROWTH_MB


def test_threads_get_what_one_thread_gets_and_leave_no_trace() -> None:
    rng = np.random.default_rng(0)
    files = []
    for number in range(24):
        buffer = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (90, 60 + number, 3), dtype=np.uint8)).save(buffer, "PNG")
        files.append(buffer.getvalue())
    expected = [decode_image(data) for data in files]
    before = Image.MAX_IMAGE_PIXELS, list(warnings.filters)
    found: dict[int, np.ndarray] = {}

    def work(first: int) -> None:
        for number in range(first, len(files), 6):
            found[number] = decode_image(files[number])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((found[number] == image).all() for number, image in enumerate(expected))
    assert (Image.MAX_IMAGE_PIXELS, list(warnings.filters)) == before
