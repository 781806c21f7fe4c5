"""Draw emoji as PNG files on white, in parallel processes; those that are there already are not drawn again."""

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import repeat
from pathlib import Path

from diptych._core.errors import DataError
from diptych._core.files import atomic_file
from diptych._core.processes import end_pool, interrupts_held_back, settle_worker
from diptych._core.progress import Progress
from diptych.ingest.samples.emoji_catalogue import drawings
from diptych.ingest.samples.packages import needed

STAGE = "drawing emoji"
_AT_ONCE = 24


Named = tuple[str, str]
"""An image's name and the name of the SVG file it is drawn from."""


def draw(sources: Mapping[str, str], folder: Path, size: int, workers: int, progress: Progress) -> int:
    """Write `NAME.png` for every name that has none yet.

    Args:
        sources: by the image's name, the name of the SVG file.
        folder: where to write.
        size: width and height in pixels.
        workers: parallel processes; 0 draws in this one.
        progress: told how far it is.

    Returns:
        How many were written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    missing = [each for each in sources.items() if not (folder / f"{each[0]}.png").exists()]
    done = len(sources) - len(missing)
    progress(STAGE, done, len(sources))
    chunks = [missing[start : start + _AT_ONCE] for start in range(0, len(missing), _AT_ONCE)]
    for count in _drawn(chunks, folder, size, workers):
        done += count
        progress(STAGE, done, len(sources))
    return len(missing)


def png_of(drawing: str, size: int) -> bytes:
    """One emoji as the bytes of a PNG file.

    The system's fonts are left out: no drawing needs them, and images are the same on every machine.
    """
    content = (drawings() / drawing).read_text(encoding="utf-8")
    image: bytes = needed("resvg_py").svg_to_bytes(
        svg_string=content, width=size, height=size, background="white", skip_system_fonts=True
    )
    return image


def _drawn(chunks: Sequence[Sequence[Named]], folder: Path, size: int, workers: int) -> Iterator[int]:
    if workers == 0 or len(chunks) < 2:
        yield from map(_draw_chunk, chunks, repeat(folder), repeat(size))
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), settle_worker)
    finished = False
    try:
        with interrupts_held_back():
            drawn = pool.map(_draw_chunk, chunks, repeat(folder), repeat(size))
        yield from drawn
        finished = True
    except BrokenProcessPool:
        raise DataError("a process that draws emoji died; the same command goes on from here.") from None
    finally:
        end_pool(pool, at_once=not finished)


def _draw_chunk(chunk: Sequence[Named], folder: Path, size: int) -> int:
    for name, drawing in chunk:
        with atomic_file(folder / f"{name}.png") as temporary:
            temporary.write_bytes(png_of(drawing, size))
    return len(chunk)


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half-written."""
    for leftover in folder.glob(".*.png"):
        leftover.unlink(missing_ok=True)
