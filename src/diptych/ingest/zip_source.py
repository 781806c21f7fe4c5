"""Pictures in a zip."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from diptych._core.errors import DataError
from diptych.ingest.picture_sources import PictureSource, Place, RefusedNameError, checked_name, is_hidden

_ENCRYPTED = 0x1


class ZipSource(PictureSource):
    """Members of a zip; no more is unpacked of one than its index promised."""

    kind = "zip"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._archive: zipfile.ZipFile | None = None
        self._index: dict[str, zipfile.ZipInfo] = {}
        self._refused: dict[str, str] = {}

    def locate(self, name: str) -> Place:
        """Find a member."""
        plain = checked_name(name)
        self._opened()
        info = self._index.get(plain)
        if info is None:
            raise RefusedNameError(self._refused.get(plain, "is not in the archive"))
        return Place(plain, info.file_size, info.CRC, info.header_offset)

    def names(self) -> list[str]:
        """All members that are files."""
        self._opened()
        return sorted(name for name in self._index if not is_hidden(name))

    def peek(self, place: Place, count: int) -> bytes:
        """Unpack the first bytes of one member."""
        return self._read(place, min(count, place.size))

    def read(self, place: Place) -> bytes:
        """Unpack one member in memory."""
        return self._read(place, place.size)

    def _read(self, place: Place, count: int) -> bytes:
        archive = self._opened()
        try:
            with archive.open(self._index[place.name]) as member:
                return member.read(count)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError) as error:
            raise OSError(f"the archive is damaged there ({error})") from None

    def in_order(self, places: Sequence[Place]) -> list[Place]:
        """As they stand in the archive."""
        return sorted(places, key=lambda place: place.offset)

    def refused(self) -> list[tuple[str, str]]:
        """Members whose names lead out of the archive, and those under a password."""
        self._opened()
        return sorted(self._refused.items())

    def stamp(self) -> str:
        """The archive's size and time."""
        facts = self.path.stat()
        return f"zip {facts.st_size} {facts.st_mtime_ns}"

    def close(self) -> None:
        """Close the archive."""
        if self._archive is not None:
            self._archive.close()
            self._archive = None

    def _opened(self) -> zipfile.ZipFile:
        if self._archive is not None:
            return self._archive
        try:
            archive = zipfile.ZipFile(self.path)
        except (zipfile.BadZipFile, OSError) as error:
            raise DataError(f"{self.path} cannot be read as a zip ({error}); make the archive again.") from None
        for info in archive.infolist():
            if info.is_dir():
                continue
            try:
                name = checked_name(info.filename)
            except RefusedNameError as reason:
                self._refused[info.filename] = str(reason)
                continue
            if info.flag_bits & _ENCRYPTED:
                self._refused[name] = "is encrypted"
            else:
                self._index[name] = info
        self._archive = archive
        return archive
