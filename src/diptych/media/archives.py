"""Files in a tar, plain or compressed, or in a zip, read without unpacking the archive."""

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from diptych._core.errors import DataError
from diptych.media.sources import MediaSource, Place, RefusedNameError, checked_name, is_hidden

_ENCRYPTED = 0x1
_OPENERS: dict[bytes, Callable[[Path], object]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}


class _ArchiveSource(MediaSource):
    """What a tar and a zip share: one file, and members in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._refused: dict[str, str] = {}

    def in_order(self, places: Sequence[Place]) -> list[Place]:
        """As they stand in the archive."""
        return sorted(places, key=lambda place: place.offset)

    def stamp(self) -> str:
        """The archive's size and time."""
        facts = self.path.stat()
        return f"{self.kind} {facts.st_size} {facts.st_mtime_ns}"


class TarSource(_ArchiveSource):
    """Members of a tar, read at their offsets.

    A compressed archive can only be read forwards, so its files are best asked for `in_order`.
    """

    kind = "tar"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file: BinaryIO | None = None
        self._index: dict[str, Place] | None = None

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
            raise OSError("the archive ends before the file does")
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

    def refused(self) -> list[tuple[str, str]]:
        """Members whose names lead out of the archive, and links."""
        self._members()
        return sorted(self._refused.items())

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


class ZipSource(_ArchiveSource):
    """Members of a zip; no more is unpacked of one than its index promised."""

    kind = "zip"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._archive: zipfile.ZipFile | None = None
        self._index: dict[str, zipfile.ZipInfo] = {}

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

    def refused(self) -> list[tuple[str, str]]:
        """Members whose names lead out of the archive, and those under a password."""
        self._opened()
        return sorted(self._refused.items())

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
