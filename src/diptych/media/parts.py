"""Parts of images, counted without decoding: they tell what a header hides of a decoder's work."""

import re
import struct
from collections.abc import Callable, Iterator, Sequence

MOST_PARTS = 200_000
"""Of one image. What takes a decoder longer, or more memory, than a chunk of a PNG counts as several."""
_SCAN, _TILE, _CODE_BLOCK, _COMMENT = 2_000, 40, 2, 200
_JPEG_MARKER, _JPEG_SHORT = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]"), frozenset((0x01, *range(0xD0, 0xDA)))
_J2K_START, _J2K_HEAD = b"\xff\x4f\xff\x51", frozenset(b"PQRSUWXY\\]^_`acdtuwx\x90")
_TIFF_NUMBERS, _TABLES = frozenset((3, 4, 5, *range(8, 19))), (b"stco", b"co64", b"stsc", b"stsz")
_AVIF_STARTS = (b"ftypavif", b"ftypavis", b"ftypmif1", b"ftypmsf1")
_LOOKUPS, _HEADER_BYTES, _UNREADABLE, _TIMES_CODED = 1_000, 256, 2**32, 4
"""An AVIF may hold its pixels four times: transparency, a preview, tiles that reach over the edge."""


def parts_problem(data: bytes) -> str | None:
    """Say that an image has far more parts than its decoder should be given; None where it may be decoded.

    The pixels that a header claims do not bound a decoder's work: there may be thousands of scans of a few bytes, each
    applied to the whole image, tiles or code blocks of one pixel, or millions of blocks of metadata.
    """
    counted = next((count for marks, count in _COUNTED if data.startswith(marks)), None)
    counted = _avif_parts if data[4:12] in _AVIF_STARTS else counted
    total = 0
    try:
        for parts in counted(data) if counted is not None else ():
            total += parts
            if total > MOST_PARTS:
                raise OverflowError
    except (struct.error, IndexError):
        pass  # cut off: the decoder will say so
    except OverflowError:
        return "the image consists of too many parts to be decoded; save it again in a common format"
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


def coded_pixels(data: bytes) -> int:
    """Return how many pixels an AVIF is coded with, whatever its container claims; 0 for all other formats."""
    streams = [sum(_frames(stream)) for _, stream in _avif_streams(data)] if data[4:12] in _AVIF_STARTS else []
    return max(max(streams, default=0), sum(streams) // _TIMES_CODED)  # frames of one may all be held at once


def _avif_parts(data: bytes) -> Iterator[int]:
    for parts, stream in _avif_streams(data):
        yield parts
        yield from (1 for _ in _units(stream))


def _avif_streams(data: bytes) -> Iterator[tuple[int, bytes]]:
    """What may be decoded: images, of which tiles are some, and the first frames of tracks; and the parts around it."""
    for name, start, stop in _boxes(data, 0, len(data)):
        try:
            if name == b"meta":
                yield from _item_streams(data, list(_boxes(data, start + 4, stop)))
            elif name == b"moov":
                yield from _track_streams(data, start, stop)
        except (struct.error, IndexError):
            continue  # the decoder gives up here, unless it has no use for this box


def _boxes(data: bytes, start: int, stop: int) -> Iterator[tuple[bytes, int, int]]:
    """Names and places of the boxes in an ISO base media file, or in one of its boxes."""
    for _ in range(MOST_PARTS):
        if start + 8 > stop:
            return
        size, name = struct.unpack_from(">I4s", data, start)
        head = 16 if size == 1 else 8
        size = int.from_bytes(data[start + 8 : start + 16], "big") if size == 1 else size
        end = min(stop, start + size) if size else stop
        yield name, start + head, end
        start = max(end, start + head)
    raise OverflowError


def _item_streams(data: bytes, boxes: Sequence[tuple[bytes, int, int]]) -> Iterator[tuple[int, bytes]]:
    stored = next(((start, stop) for name, start, stop in boxes if name == b"idat"), (0, 0))
    coded: set[int] = set()
    items = joined = 0
    for name, start, stop in boxes:
        if name == b"iinf":
            for _, entry, _ in _boxes(data, start + (8 if data[start] else 6), stop):
                yield 1, b""
                items += 1
                number, _, kind = struct.unpack_from(">IH4s" if data[entry] > 2 else ">HH4s", data, entry + 4)
                coded |= {number} if kind == b"av01" else set()
        elif name == b"iref":
            items += (stop - start) // 2
        elif name == b"iprp":
            places = [place for inner, place, _ in _boxes(data, start, stop) if inner == b"ipma"]
            items += sum(struct.unpack_from(">I", data, place + 4)[0] for place in places)
    for place in (start for name, start, _ in boxes if name == b"iloc"):
        version, read = data[place], _Bits(data, place + 4)
        offset_bits, length_bits, base_bits, index_bits = (8 * read(4) for _ in range(4))
        found = read(32 if version > 1 else 16)
        items += found
        yield found + items * items // _LOOKUPS, b""  # the decoder looks for each among all
        for _ in range(found):
            number = read(32 if version > 1 else 16)
            inside = version > 0 and read(16) & 15 == 1
            read(16)
            base, pieces = read(base_bits), []
            for _ in range(read(16)):
                read(index_bits if version > 0 else 0)
                offset, length = base + read(offset_bits), read(length_bits)
                start, stop = (stored[0] + offset, stored[1]) if inside else (offset, len(data))
                pieces.append(data[start : min(stop, start + length)] if number in coded else b"")
                joined += len(pieces[-1]) if len(pieces) > 1 else 0
                if joined > len(data) or (number in coded and not length):
                    raise OverflowError
                yield 1, b""
            yield 1, b"".join(pieces)


def _track_streams(data: bytes, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """The first sample of each track: no other is decoded, but all are listed."""
    inner = [(b"", start, stop)]
    for name in (b"trak", b"mdia", b"minf", b"stbl"):
        inner = [box for _, first, last in inner for box in _boxes(data, first, last) if box[0] == name]
    for _, first, last in inner:
        boxes = [(name, place + 4) for name, place, _ in _boxes(data, first, last) if name in _TABLES]
        tables = dict(boxes)
        if len(boxes) != 3 or len(tables) != 3 or not {b"stsc", b"stsz"} <= set(tables):
            raise OverflowError
        wide = b"co64" in tables
        chunks, offset = struct.unpack_from(">IQ" if wide else ">II", data, tables[b"co64" if wide else b"stco"])
        same, samples, size = struct.unpack_from(">III", data, tables[b"stsz"])
        (groups,) = struct.unpack_from(">I", data, tables[b"stsc"])
        yield samples + chunks + chunks * groups // _LOOKUPS, data[offset : offset + (same or size)]


def _units(stream: bytes) -> Iterator[tuple[int, bytes]]:
    """Kinds and contents of the units (OBUs) of an AV1 stream, up to one that is cut off."""
    place = 0
    while place < len(stream):
        head = stream[place]
        place += 2 if head & 4 else 1
        length = len(stream) - place
        if head & 2:
            number = stream[place : place + 8]
            size = next((at + 1 for at, byte in enumerate(number) if byte < 128), 8)
            length = sum((byte & 127) << 7 * at for at, byte in enumerate(number[:size]))
            place += size
        yield head >> 3 & 15, stream[place : place + min(length, _HEADER_BYTES)]
        place += length


def _frames(stream: bytes) -> Iterator[int]:
    """The pixels of each frame of an AV1 stream; more than any limit where that cannot be told."""
    header: _Sequence | None = None
    try:
        for kind, unit in _units(stream):
            if kind == 1:
                header = _Sequence(_Bits(unit))
            elif kind in (3, 6, 7):
                yield header.frame_pixels(_Bits(unit)) if header is not None else _UNREADABLE
    except IndexError:
        return  # cut off: the decoder gives up


class _Bits:
    """Whole numbers of so many bits each, one after the other."""

    def __init__(self, data: bytes, place: int = 0) -> None:
        self._data, self._at = data, 8 * place

    def __call__(self, count: int) -> int:
        start, self._at = self._at, self._at + count
        if self._at > 8 * len(self._data):
            raise IndexError
        whole = int.from_bytes(self._data[start // 8 : -(-self._at // 8)], "big")
        return whole >> -self._at % 8 & (1 << count) - 1


class _Sequence:
    """What the header of an AV1 sequence says of the sizes of its frames."""

    def __init__(self, read: _Bits) -> None:
        read(4)
        self._still, self._usual = bool(read(1)), _UNREADABLE
        if self._still:
            read(5)
        elif read(1):
            return  # other fields follow, which images have no use for
        else:
            delays = read(1)
            for _ in range(read(5) + 1):
                read(12)
                read(1 if read(5) > 7 else 0)
                read(4 if delays and read(1) else 0)
        bits = read(4) + 1, read(4) + 1
        self._usual, self._most = (read(bits[0]) + 1) * (read(bits[1]) + 1), 1 << sum(bits)
        if self._still:
            return
        self._number_bits = read(4) + read(3) + 3 if read(1) else 0
        read(7)
        read(2 if read(1) else 0)
        self._screen = 2 if read(1) else read(1)
        self._whole = 2 if not self._screen or read(1) else read(1)

    def frame_pixels(self, read: _Bits) -> int:
        """The pixels of a frame by the start of its header: the sequence's, unless it may have a size of its own."""
        if self._still or self._usual == _UNREADABLE or read(1):
            return self._usual
        kind, shown = read(2), read(1)
        read(0 if shown else 1)
        read(0 if kind == 3 or (kind == 0 and shown) else 1)
        read(1)
        screen = read(1) if self._screen == 2 else self._screen
        read(1 if screen and self._whole == 2 else 0)
        read(self._number_bits)
        return self._most if kind == 3 or read(1) else self._usual
