"""Pictures in a tar, plain or compressed."""

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from diptych._core.errors import DataError
from diptych.ingest.picture_sources import PictureSource, Place, RefusedNameError, checked_name, is_hidden

_OPENERS: dict[bytes, Callable[[Path], object]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


class TarSource(PictureSource):
    """Members of a tar, read at their offsets.

    A compressed archive can only be read forwards, so its pictures are best asked for `in_order`.
    """

    kind = "tar"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._index: dict[str, Place] | None = None
        self._refused: dict[str, str] = {}

    def locate(self, name: str) -> Place:
        """Find a member."""
        plain = checked_name(name)
        place = self._members().get(plain)
        if place is None:
            raise RefusedNameError(self._refused.get(plain, "is not in the archive"))
        return place

    def read(self, place: Place) -> bytes:
        """Read a member's bytes."""
        if self._file is None:
            self._file = _open(self.path)
        try:
            self._file.seek(place.offset)
            data = self._file.read(place.size)
        except (EOFError, lzma.LZMAError, ValueError) as error:
            raise OSError(f"the archive is damaged ({error})") from None
        if len(data) < place.size:
            raise OSError("the archive ends before the picture does")
        return data

    def names(self) -> list[str]:
        """All members that are files."""
        return sorted(name for name in self._members() if not is_hidden(name))

    def peek(self, place: Place, count: int) -> bytes | None:
        """Read a member's first bytes; None in a compressed archive."""
        if _opener(self.path) is not None:
            return None
        with self.path.open("rb") as file:
            file.seek(place.offset)
            return file.read(min(count, place.size))

    def in_order(self, places: Sequence[Place]) -> list[Place]:
        """As they stand in the archive."""
        return sorted(places, key=lambda place: place.offset)

    def refused(self) -> list[tuple[str, str]]:
        """Members whose names lead out of the archive, and links."""
        self._members()
        return sorted(self._refused.items())

    def stamp(self) -> str:
        """The archive's size and time."""
        facts = self.path.stat()
        return f"tar {facts.st_size} {facts.st_mtime_ns}"

    def close(self) -> None:
        """Close the archive."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _members(self) -> dict[str, Place]:
        if self._index is None:
            self._index = self._read_index()
        return self._index

    def _read_index(self) -> dict[str, Place]:
        """The regular files of the archive, the last of those that share a name, as unpacking would leave."""
        index: dict[str, Place] = {}
        try:
            with tarfile.open(self.path, "r:*") as archive:
                for member in archive:
                    try:
                        name = checked_name(member.name)
                    except RefusedNameError as reason:
                        self._refused[member.name] = str(reason)
                        continue
                    if member.isdir():
                        continue
                    if not member.isreg() or member.issparse():
                        self._refused[name] = "is a link or a special file in the archive"
                        continue
                    index[name] = Place(name, member.size, 0, member.offset_data)
        except (tarfile.TarError, OSError, EOFError, lzma.LZMAError) as error:
            if not index:
                raise DataError(f"{self.path} cannot be read as a tar ({error}); make the archive again.") from None
            self._refused["the rest of the archive"] = f"cannot be read ({error})"
        return index


def _opener(path: Path) -> Callable[[Path], object] | None:
    """What opens a compressed archive; None for a plain one."""
    with path.open("rb") as file:
        start = file.read(6)
    return next((opener for mark, opener in _OPENERS.items() if start.startswith(mark)), None)


def _open(path: Path) -> BinaryIO:
    opener = _opener(path)
    return path.open("rb") if opener is None else cast(BinaryIO, opener(path))
