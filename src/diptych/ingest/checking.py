"""Find out before minutes of work whether it can succeed: options, packages, and room for the result."""

import os
import shutil
from pathlib import Path

from diptych._core.errors import ConfigError, DataError
from diptych.features import check_available
from diptych.ingest.options import IngestOptions

_BYTES_AN_ITEM = 24_000
"""Rows of both modalities, kept in the work folder and in the dataset at the same time."""

_LEAST_ROOM = 50 * 2**20


def check_options(options: IngestOptions) -> None:
    """Refuse options that make no sense, features whose packages are missing, and a place nobody may write to.

    Raises:
        ConfigError: naming the option, or the package and how to install it.
        DataError: when the dataset's folder cannot be made.
    """
    if options.pipeline is None:
        for medium, written in options.features.items():
            check_available(medium, written)
    for name in ("fit_pictures", "max_pixels", "max_bytes"):
        if getattr(options, name) < 1:
            raise ConfigError(f"{name} is {getattr(options, name)}; it must be at least 1.")
    place = _nearest(options.out)
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise DataError(f"{options.out} cannot be made, since {place} cannot be written to; choose another folder.")


def check_room(out: Path, items: int) -> None:
    """Refuse a disk that is too full for a dataset of so many items.

    Raises:
        DataError: naming the room there is and the room that is needed.
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
    """The folder itself, or the nearest one above it that is there."""
    place = path.resolve()
    while not place.exists() and place != place.parent:
        place = place.parent
    return place
