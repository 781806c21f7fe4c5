"""Files of a few kilobytes that hold millions of pixels, decoded by many threads: memory stays bounded."""

import io
import struct
import subprocess
import sys
import threading
import warnings
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from diptych.media.decoding import ImageError, ImageTooLargeError, Limits, decode_image, read_header
from diptych.media.parts import coded_pixels

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
    refused += [claiming(encoded("RGB", (11_000, 11_000), "AVIF", speed=10), (11_000, 11_000), (64, 64))]
    large = [encoded(mode, (7_000, 7_000)) for mode in ("1", "RGBA")]
    large += [encoded("RGBA", (3_800, 3_800), "AVIF", speed=10), encoded("RGB", (3_000, 3_000), "WEBP")]
    large += [encoded("RGB", (7_000, 7_000), "JPEG", progressive=True)]
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


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "TIFF", "JPEG2000", "PPM", "AVIF"])
def test_a_file_that_ends_while_its_parts_are_counted_is_a_damaged_one(kind) -> None:
    data = encoded("RGB", (40, 30), kind)
    for length in (*range(1, 40), len(data) // 2, len(data) - 1):
        try:
            assert decode_image(data[:length]).ndim == 3
        except ImageTooLargeError:
            raise
        except ImageError:
            pass


def box(name: bytes, *content: bytes) -> bytes:
    return struct.pack(">I", 8 + sum(map(len, content))) + name + b"".join(content)


def av1_of(size: tuple[int, int], mode: str = "RGB") -> tuple[bytes, bytes]:
    """An image coded as AV1, and the box that tells how."""
    data = encoded(mode, size, "AVIF", speed=10)
    start = data.index(b"av1C") - 4
    return data[data.index(b"mdat") + 4 :], data[start : start + int.from_bytes(data[start : start + 4], "big")]


def avif_of(
    size: tuple[int, int],
    *,
    tile: tuple[int, int],
    coded: tuple[int, int] | None = None,
    grid: tuple[int, int] = (1, 1),
    pieces: int = 1,
    inside: bool = False,
    repeated: int = 1,
) -> bytes:
    """An AVIF of tiles in a grid (columns and rows), each of which may be coded with more pixels than it claims.

    What is coded may lie in several pieces or inside the box of metadata, and may come several times.
    """
    stream, configuration = av1_of(coded or tile)
    stream *= repeated
    numbers = list(range(2, 2 + grid[0] * grid[1]))
    payload = struct.pack(">BBBBHH", 0, 0, grid[1] - 1, grid[0] - 1, *size) + stream
    cuts = [8 + len(stream) * piece // pieces for piece in range(pieces + 1)]
    places = {1: [(0, 8)], **{number: [(a, b - a) for a, b in pairwise(cuts)] for number in numbers}}
    items = [(1, b"grid"), *((number, b"av01") for number in numbers)]
    described = [box(b"infe", struct.pack(">IHH4s", 2 << 24, number, 0, kind), b"\0") for number, kind in items]
    properties = [box(b"ispe", struct.pack(">III", 0, *each)) for each in (size, tile)]
    properties += [configuration, box(b"pixi", struct.pack(">IBBBB", 0, 3, 8, 8, 8))]
    used = struct.pack(">HBBB", 1, 2, 1, 4) + b"".join(
        struct.pack(">HBBBB", number, 3, 2, 0x80 | 3, 4) for number in numbers
    )

    def start(base: int) -> bytes:
        located = b"".join(
            struct.pack(">HHHH", number, int(inside), 0, len(extents))
            + b"".join(struct.pack(">II", base + at, length) for at, length in extents)
            for number, extents in places.items()
        )
        metadata = [
            box(b"hdlr", struct.pack(">II4s12xB", 0, 0, b"pict", 0)),
            box(b"pitm", struct.pack(">IH", 0, 1)),
            box(b"iloc", struct.pack(">IBBH", 1 << 24, 0x44, 0, len(items)), located),
            box(b"iinf", struct.pack(">IH", 0, len(items)), *described),
            box(b"iref", bytes(4), box(b"dimg", struct.pack(f">HH{len(numbers)}H", 1, len(numbers), *numbers))),
            box(b"iprp", box(b"ipco", *properties), box(b"ipma", struct.pack(">II", 0, len(items)), used)),
            *([box(b"idat", payload)] if inside else []),
        ]
        return box(b"ftyp", b"avif", bytes(4), b"avifmif1miaf") + box(b"meta", bytes(4), *metadata)

    return start(0) if inside else start(len(start(0)) + 8) + box(b"mdat", payload)


def claiming(data: bytes, size: tuple[int, int], claimed: tuple[int, int]) -> bytes:
    """An AVIF that says another size, of images and of tracks, than it is coded with."""
    for before, fields, after in ((b"ispe\0\0\0\0", ">II", b""), (b"", ">HH", b"\0H\0\0"), (b"", ">H2xH2x", b"")):
        old, new = (before + struct.pack(fields, *each) + after for each in (size, claimed))
        data = data.replace(old, new)
    return data


MOST_PIXELS = 500_000
SERVED = Limits(max_memory=20 * MOST_PIXELS)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("size", [(1, 1), (3, 5), (101, 67), (16, 2_000), (640, 480)])
def test_an_avif_is_coded_with_the_pixels_that_it_claims(mode, size) -> None:
    more = [Image.new(mode, size, "white")] * 3
    for options in (
        {},
        {"subsampling": "4:4:4"},
        {"tile_rows": 1, "tile_cols": 1},
        {"save_all": True, "append_images": more},
    ):
        data = encoded(mode, size, "AVIF", **options)
        assert coded_pixels(data) == size[0] * size[1]
        assert decode_image(data, SERVED).shape == (size[1], size[0], 3)


@pytest.mark.parametrize("options", [{}, {"pieces": 3}, {"inside": True}, {"inside": True, "pieces": 2}])
def test_an_avif_of_tiles_is_decoded(options) -> None:
    data = avif_of((150, 100), tile=(64, 64), grid=(3, 2), **options)
    assert coded_pixels(data) == 6 * 64 * 64 // 4
    assert decode_image(data, SERVED).shape == (100, 150, 3)


@pytest.mark.parametrize("frames", [1, 2])
def test_an_avif_that_is_coded_with_more_than_it_claims_is_refused_before_it_is_decoded(frames, monkeypatch) -> None:
    more = [Image.new("RGB", (800, 800), "red")] * (frames - 1)
    honest = encoded("RGB", (800, 800), "AVIF", speed=10, save_all=frames > 1, append_images=more)
    data = claiming(honest, (800, 800), (64, 64))
    assert (read_header(data).width, read_header(data).height) == (64, 64)
    monkeypatch.setattr("PIL.AvifImagePlugin.AvifImageFile.load", lambda image: pytest.fail("it is decoded"))
    for read in (decode_image, read_header):
        with pytest.raises(ImageTooLargeError, match="claims 64 × 64 pixels, but is coded with more"):
            read(data, SERVED)


@pytest.mark.parametrize(
    "options",
    [
        {"coded": (800, 800)},
        {"coded": (800, 800), "pieces": 20},
        {"coded": (800, 800), "inside": True},
        {"coded": (200, 200), "grid": (8, 8)},
        {"coded": (200, 200), "repeated": 16},
    ],
    ids=["tile", "pieces", "inside", "many", "repeated"],
)
def test_tiles_that_are_coded_with_more_than_they_claim_are_refused(options) -> None:
    columns, rows = options.get("grid", (1, 1))
    honest = avif_of((64 * columns, 64 * rows), tile=(64, 64), grid=(columns, rows))
    assert decode_image(honest, SERVED).shape == (64 * rows, 64 * columns, 3)
    with pytest.raises(ImageTooLargeError, match="but is coded with more; of its format at most 500,000"):
        decode_image(avif_of((64 * columns, 64 * rows), tile=(64, 64), **options), SERVED)


@pytest.mark.parametrize("samples", [2, 1_000_000])
def test_a_track_of_very_many_frames_is_refused(samples) -> None:
    data = encoded("RGB", (64, 64), "AVIF", save_all=True, append_images=[Image.new("RGB", (64, 64), "red")])
    start = data.index(b"stsz") + 8
    data = data[:start] + struct.pack(">II", 1 if samples > 2 else 0, samples) + data[start + 8 :]
    if samples == 2:
        assert decode_image(data).shape == (64, 64, 3)
    else:
        with pytest.raises(ImageTooLargeError, match="too many parts to be decoded"):
            decode_image(data)


def test_an_avif_of_very_many_items_is_refused() -> None:
    assert decode_image(avif_of((1_920, 1_280), tile=(64, 64), grid=(30, 20))).ndim == 3
    data = box(b"ftyp", b"avif", bytes(4), b"avifmif1miaf")
    names = b"".join(
        box(b"infe", struct.pack(">IHH4s", 2 << 24, number, 0, b"av01"), b"\0") for number in range(20_000)
    )
    located = struct.pack(">IBBH", 0, 0x44, 0, 20_000) + bytes(6 * 20_000)
    data += box(b"meta", bytes(4), box(b"iinf", struct.pack(">IH", 0, 20_000), names), box(b"iloc", located))
    with pytest.raises(ImageTooLargeError, match="too many parts to be decoded"):
        decode_image(data)


def test_a_sequence_whose_size_is_hidden_behind_rare_fields_is_refused() -> None:
    data = encoded("RGB", (64, 64), "AVIF", save_all=True, append_images=[Image.new("RGB", (64, 64), "red")])
    start = data.index(b"mdat") + 4 + 4
    assert data[start - 2] == 0x0A
    timed = data[:start] + bytes([data[start] & 0xFB | 0x04]) + data[start + 1 :]
    with pytest.raises(ImageTooLargeError, match="is coded with more"):
        decode_image(timed)
