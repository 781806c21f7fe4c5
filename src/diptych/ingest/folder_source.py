"""Pictures in a folder."""

import stat
from pathlib import Path

from diptych.ingest.picture_sources import PictureSource, Place, RefusedNameError, checked_name


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

    def read(self, place: Place) -> bytes:
        """Read a file, at most as many bytes as it had when it was found."""
        real = (self._root / place.name).resolve(strict=True)
        if not real.is_relative_to(self._root):
            raise OSError("is a link that leads out of the pictures' root")
        with real.open("rb") as file:
            return file.read(place.size)
