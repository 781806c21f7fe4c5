"""Pictures in a folder."""

import os
import stat
from pathlib import Path

from diptych._core.errors import DataError
from diptych.ingest.picture_sources import PictureSource, Place, RefusedNameError, checked_name, is_hidden

_MOST_FILES = 2_000_000
_MADE_BY_DIPTYCH = (
    *(("dataset.json", "items.parquet"), ("pipeline.json", "weights.safetensors"), ("index.sqlite",)),
    *(("model.json", "weights.safetensors"), ("inputs.json", "shards")),
)
"""A folder with all files of one of these holds what was made of images, not images."""


class FolderSource(PictureSource):
    """Files below a root; links may lead anywhere below it and nowhere else."""

    kind = "folder"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._root = path.resolve()

    def locate(self, name: str) -> Place:
        """Find a file and make sure that it lies below the root."""
        path = self._root / checked_name(name)
        try:
            real = path.resolve(strict=True)
            facts = real.stat()
        except FileNotFoundError:
            raise RefusedNameError("is not there") from None
        except (OSError, RuntimeError) as error:
            raise RefusedNameError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
        if not real.is_relative_to(self._root):
            raise RefusedNameError("is a link that leads out of the pictures' root")
        if not stat.S_ISREG(facts.st_mode):
            raise RefusedNameError("is not a file")
        return Place(path.relative_to(self._root).as_posix(), facts.st_size, facts.st_mtime_ns)

    def names(self) -> list[str]:
        """All files below the root; folders that are links, and what this program made, are not entered."""
        found: list[str] = []
        for folder, folders, files in os.walk(self._root):
            here = Path(folder).relative_to(self._root)
            if here.parts and any({*marks} <= {*files, *folders} for marks in _MADE_BY_DIPTYCH):
                folders.clear()
                continue
            folders[:] = [name for name in folders if not is_hidden(name)]
            found += [(here / name).as_posix() for name in files if not is_hidden(name)]
            if len(found) > _MOST_FILES:
                raise DataError(f"{self.path} holds more than {_MOST_FILES:,} files; name the images' folder closer.")
        return sorted(found)

    def peek(self, place: Place, count: int) -> bytes:
        """Read a file's first bytes."""
        return self._read(place, min(count, place.size))

    def read(self, place: Place) -> bytes:
        """Read a file, at most as many bytes as it had when it was found."""
        return self._read(place, place.size)

    def _read(self, place: Place, count: int) -> bytes:
        real = (self._root / place.name).resolve(strict=True)
        if not real.is_relative_to(self._root):
            raise OSError("is a link that leads out of the pictures' root")
        with real.open("rb") as file:
            return file.read(count)
