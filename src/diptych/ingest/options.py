"""What a user decides about an ingest, and whether it can be done: options, packages, and free disk space."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from diptych._core.errors import ConfigError, DataError
from diptych.features import DEFAULT_FEATURES, check_available
from diptych.media import MediaLimits, media_kind

Captions = Literal["join", "first", "each"]
OnBroken = Literal["skip", "fatal"]

_BYTES_AN_ITEM = 24_000
"""Rows of all modalities, kept in the work folder and in the dataset at the same time."""

_ALWAYS = ("image", "text")
"""What is checked for before anything is read: nearly every ingest has both."""

_LEAST_ROOM = 50 * 2**20


@dataclass(frozen=True)
class SplitShares:
    """The shares of a drawn split."""

    train: float = 0.7
    val: float = 0.1
    test: float = 0.2

    @classmethod
    def parse(cls, text: str) -> "SplitShares":
        """Read shares as a user writes them.

        >>> SplitShares.parse("80,10,10")
        SplitShares(train=0.8, val=0.1, test=0.1)
        """
        try:
            shares = [float(part) for part in text.split(",")]
        except ValueError:
            shares = []
        if len(shares) != 3 or min(shares) < 0 or not shares[0] or not 0 < sum(shares) < float("inf"):
            raise ConfigError(
                f"the split's shares are '{text}'; write three for train, val and test, such as 70,10,20."
            )
        return cls(*(share / sum(shares) for share in shares))


@dataclass(frozen=True)
class IngestOptions:
    """What to read and what to make of it.

    Attributes:
        pairs: a CSV, TSV, JSON, JSON lines or Parquet table, or a folder or an archive of files, with or without one.
        out: the dataset's folder.
        images: the folder, tar or zip with the images and sounds; None for the table's own folder or an archive
            beside it.
        features: the features of images, sounds and texts as a user writes them; several are put side by side with "+".
        columns: which column holds the "image", "audio", "text" (or several), "label", "split" or "id", where it is not
            to be guessed; "-" for none.
        drop_columns: other columns that are not kept as metadata; "all" for every one.
        captions: what to do with several captions of one item: "join", "first" or "each".
        label_separator: what stands between several labels in one cell.
        missing_label: a value that means "no label", such as "-1".
        split_shares: draw splits with these shares, whatever is given; None draws only where none are given.
        pipeline: a dataset, a model or a pipeline whose features are to be used as they are, instead of new ones.
        name: what to call the dataset; the folder's name by default.
        encoding: of the table, where it is not UTF-8.
        seed: of all that is drawn.
        fit_images: how many training images features learn from at most; the sample is drawn.
        max_pixels: of one image.
        max_bytes: of one file.
        max_seconds: of one sound.
        on_broken: whether a broken file is skipped or ends the work.
        overwrite: whether a dataset that is there may be replaced.
        reuse: whether rows that earlier ingests extracted of the same content are taken from the cache.
        about: what else `dataset.json` is to say of the source, such as a citation.
    """

    pairs: Path
    out: Path
    images: Path | None = None
    features: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_FEATURES))
    columns: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    drop_columns: Sequence[str] = ()
    captions: Captions = "join"
    label_separator: str | None = None
    missing_label: str | None = None
    split_shares: SplitShares | None = None
    pipeline: Path | None = None
    name: str | None = None
    encoding: str | None = None
    seed: int = 0
    fit_images: int = 2000
    max_pixels: int = 100_000_000
    max_bytes: int = 200 * 2**20
    max_seconds: float = 600.0
    on_broken: OnBroken = "skip"
    overwrite: bool = False
    reuse: bool = True
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def limits(self) -> MediaLimits:
        """To one file."""
        return MediaLimits(self.max_bytes, self.max_pixels, self.max_seconds)


def check_options(options: IngestOptions) -> None:
    """Refuse options out of range, features whose packages are missing, and a target that cannot be written.

    Raises:
        ConfigError: naming the option, or the package and how to install it.
        DataError: when the dataset's folder cannot be made.
    """
    if options.pipeline is None:
        chosen = {name for name, written in options.features.items() if written != DEFAULT_FEATURES.get(name)}
        check_features(options, [name for name in options.features if name in {*_ALWAYS, *chosen}])
    for name in ("fit_images", "max_pixels", "max_bytes", "max_seconds"):
        if not getattr(options, name) >= 1:
            raise ConfigError(f"{name} is {getattr(options, name)}; it must be at least 1.")
    place = _nearest(options.out)
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise DataError(f"{options.out} cannot be made, since {place} cannot be written to; choose another folder.")


def check_features(options: IngestOptions, media_types: Sequence[str]) -> None:
    """Refuse features of some media types whose packages are missing.

    Raises:
        ConfigError: naming the package, how to install it, and how to do without.
    """
    for media_type in media_types:
        if media_type not in options.features:
            continue
        try:
            check_available(media_type, options.features[media_type])
        except ConfigError as error:
            if media_type in _ALWAYS:
                raise
            plural = media_kind(media_type).plural
            raise ConfigError(f"{error} Or leave {plural} out with --{media_type}-column -.") from None


def check_disk_space(out: Path, items: int) -> None:
    """Refuse a disk that is too full for a dataset of so many items.

    Raises:
        DataError: naming the free space and what is needed.
    """
    needed = _LEAST_ROOM + items * _BYTES_AN_ITEM
    try:
        free = shutil.disk_usage(_nearest(out)).free
    except OSError:
        return  # a file system that does not tell
    if free < needed:
        raise DataError(
            f"{out} needs about {needed / 1e9:.1f} GB for {items:,} items, and {free / 1e9:.1f} GB are free; make room "
            "or choose another folder."
        )


def _nearest(path: Path) -> Path:
    """The folder itself, or its nearest parent that exists."""
    place = path.resolve()
    while not place.exists() and place != place.parent:
        place = place.parent
    return place
