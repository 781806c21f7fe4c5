"""The emoji sample: OpenMoji's images with names and keywords, written as files that `diptych ingest` reads."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError, DataError
from diptych._core.files import read_json, write_json, write_text
from diptych._core.progress import Progress, silent
from diptych.ingest.samples.emoji_catalogue import ENGLISH, Emoji, character, read_catalogue
from diptych.ingest.samples.emoji_drawing import draw
from diptych.ingest.samples.emoji_families import families, split_families
from diptych.ingest.samples.emoji_licence import ATTRIBUTION_FILE, attribution, licence
from diptych.ingest.samples.packages import package_versions

PAIRS_FILE, IMAGES_FOLDER, RECIPE_FILE = "pairs.jsonl", "images", "sample.json"
LEAST_SIZE, MOST_SIZE = 16, 2048


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
        progress: told how far it is.

    Raises:
        ConfigError: for a package that is not installed or a value out of range.
        DataError: when the folder holds something else.
    """
    _check(size, limit)
    emoji = _some(read_catalogue(languages), limit)
    family = families(emoji)
    splits = split_families(emoji, family, seed)
    recipe = {"sample": "emoji", "size": size, "languages": list(languages), "seed": seed, "limit": limit}
    _claim(folder, recipe | {"packages": package_versions()})
    write_text(folder / ATTRIBUTION_FILE, attribution(size))
    write_text(folder / "LICENSE", licence())
    drawn = draw({one.code: one.drawing for one in emoji}, folder / IMAGES_FOLDER, size, workers, progress)
    lines = [json.dumps(_row(*each), ensure_ascii=False) for each in zip(emoji, family, splits, strict=True)]
    table = "\n".join(lines) + "\n"
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
