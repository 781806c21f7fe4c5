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


def png_chunk(name: bytes, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def jpeg_of_scans(scans: int) -> bytes:
    """A progressive JPEG whose last scan, a few bytes about no change of any pixel, comes again and again."""
    data = encoded("L", (64, 64), "JPEG", progressive=True)
    last = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + last * (scans - data.count(b"\xff\xda")) + data[-2:]


def jpeg_of_segments(segment: bytes, count: int) -> bytes:
    data = encoded("RGB", (64, 64), "JPEG")
    return data[:2] + segment * count + data[2:]


def tiff_of_strips(count: int) -> bytes:
    """A grey TIFF of one column, whose strips all lie at the same place."""
    tags = {256: 1, 257: 30_000, 258: 8, 259: 1, 262: 1, 277: 1, 278: 1}
    at = 8 + 2 + 12 * 9 + 4
    entries = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items()]
    entries += [struct.pack("<HHII", tag, 4, count, at) for tag in (273, 279)]
    directory = struct.pack("<H", 9) + b"".join(sorted(entries)) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8) + directory + struct.pack("<I", 8) * count


def gif_of_comments(count: int) -> bytes:
    data = encoded("P", (8, 8), "GIF")
    start = 13 + (3 << (data[10] & 7) + 1)
    return data[:start] + b"!\xfe" + b"\1a" * count + b"\0" + data[start:]


def jpeg2000_of(side: int, *, tile: int | None = None, precinct: int | None = None, late: bool = False) -> bytes:
    """A JPEG 2000 whose header states other tiles or precincts; `late` in the header of the first tile."""
    data = bytearray(encoded("RGB", (side, side), "JPEG2000", no_jp2=True))
    if tile is not None:
        struct.pack_into(">II", data, data.index(b"\xff\x51") + 22, tile, tile)
    if precinct is None:
        return bytes(data)
    start = data.index(b"\xff\x52")
    stop = start + 2 + int.from_bytes(data[start + 2 : start + 4], "big")
    style = data[start:stop]
    style[4] |= 1
    style[10:12] = b"\0\0"
    style += bytes([precinct * 17]) * (style[9] + 1)
    struct.pack_into(">H", style, 2, len(style) - 2)
    if not late:
        return bytes(data[:start] + style + data[stop:])
    tile_start = data.index(b"\xff\x90")
    struct.pack_into(
        ">I", data, tile_start + 6, int.from_bytes(data[tile_start + 6 : tile_start + 10], "big") + len(style)
    )
    return bytes(data[: tile_start + 12] + style + data[tile_start + 12 :])


def png_of_chunks(count: int) -> bytes:
    data = encoded("RGB", (8, 8))
    return data[:33] + png_chunk(b"xxXx") * count + data[33:]


@pytest.mark.parametrize(
    ("few", "many"),
    [
        (jpeg_of_scans(40), jpeg_of_scans(200)),
        (jpeg_of_segments(b"\xff\xe9\0\2", 100), jpeg_of_segments(b"\xff\xe9\0\2", 300_000)),
        (jpeg_of_segments(b"\xff", 100), jpeg_of_segments(b"\xff", 300_000)),
        (jpeg_of_segments(b"\xff\0a", 30), jpeg_of_segments(b"\xff\0a", 300_000)),
        (png_of_chunks(100), png_of_chunks(300_000)),
        (gif_of_comments(100), gif_of_comments(300_000)),
        (tiff_of_strips(30_000), tiff_of_strips(300_000)),
        (b"P2\n# grey\n2 2\n255\n# one\n0 1 2 3\n", b"P2\n2 2\n255\n" + b"#\n" * 2_000 + b"0 1 2 3\n"),
        (jpeg2000_of(200, tile=100), jpeg2000_of(250, tile=1)),
        (jpeg2000_of(200), jpeg2000_of(600, precinct=1)),
        (jpeg2000_of(300), jpeg2000_of(600, precinct=1, late=True)),
    ],
    ids=["scans", "segments", "fill", "junk", "chunks", "comments", "strips", "text", "tiles", "precincts", "late"],
)
def test_an_image_of_very_many_parts_is_refused_before_it_is_decoded(few, many) -> None:
    assert decode_image(few).ndim == 3
    for read in (decode_image, read_header):
        with pytest.raises(ImageTooLargeError, match="too many parts to be decoded"):
            read(many)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "TIFF", "JPEG2000", "PPM"])
def test_a_file_that_ends_while_its_parts_are_counted_is_a_damaged_one(kind) -> None:
    data = encoded("RGB", (40, 30), kind)
    for length in (*range(1, 40), len(data) // 2, len(data) - 1):
        try:
            assert decode_image(data[:length]).ndim == 3
        except ImageTooLargeError:
            raise
        except ImageError:
            pass
