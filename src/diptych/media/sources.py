"""Sources of raw items: a folder, a tar or a zip whose files are found by name, and never outside of it."""

import hashlib
import os
import stat
import tarfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from diptych._core.errors import DataError

_MOST_FILES = 2_000_000
_MADE_BY_DIPTYCH = (
    *(("dataset.json", "items.parquet"), ("pipeline.json", "weights.safetensors"), ("index.sqlite",)),
    *(("model.json", "weights.safetensors"), ("inputs.json", "shards")),
)
"""A folder with all files of one of these holds what was made of items, not items."""


class RefusedNameError(DataError):
    """A name that leads nowhere, or out of the source."""


@dataclass(frozen=True)
class Place:
    """Where one file's bytes are.

    Attributes:
        name: its path below the root or its name in the archive, with forward slashes.
        size: in bytes, as the file system or the archive's index says.
        stamp: changes when the bytes do: a time, a checksum or an offset.
        offset: where a tar's member starts.
    """

    name: str
    size: int
    stamp: int = 0
    offset: int = 0


class MediaSource(ABC):
    """A folder or an archive of files.

    Attributes:
        path: of the folder or the archive.
        kind: "folder", "tar" or "zip".
    """

    path: Path
    kind: str

    @abstractmethod
    def locate(self, name: str) -> Place:
        """Find a file by the name a table gives it.

        Raises:
            RefusedNameError: when it is not there, or leads out of the source; the message is the reason.
        """

    @abstractmethod
    def read(self, place: Place) -> bytes:
        """Read a file.

        Raises:
            OSError: when it cannot be read.
        """

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all files, sorted; hidden ones and those of hidden folders are passed over."""

    @abstractmethod
    def peek(self, place: Place, count: int) -> bytes | None:
        """Read a file's first bytes; None where that means reading everything before it.

        Raises:
            OSError: when they cannot be read.
        """

    def in_order(self, places: Sequence[Place]) -> list[Place]:
        """Places in the order in which they are best read."""
        return list(places)

    def refused(self) -> list[tuple[str, str]]:
        """Entries that were passed over because they lead out of the source, each with its reason."""
        return []

    def stamp(self) -> str:
        """Changes when the source as a whole does; a folder's files have their own stamps."""
        return self.kind

    def __enter__(self) -> "MediaSource":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Close what is open."""


class FolderSource(MediaSource):
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
            raise RefusedNameError("is a link that leads out of the images' root")
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
            raise OSError("is a link that leads out of the images' root")
        with real.open("rb") as file:
            return file.read(count)


def open_source(path: Path) -> MediaSource:
    """Open a folder or an archive, recognised by its content.

    Raises:
        DataError: when it is none of these, or cannot be read.
    """
    if path.is_dir():
        return FolderSource(path)
    if not path.exists():
        raise DataError(f"there is no {path}; give the folder, tar or zip with the images.")
    try:
        if tarfile.is_tarfile(path):
            return reopen_source(path, "tar")
        if zipfile.is_zipfile(path):
            return reopen_source(path, "zip")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a folder, a tar or a zip.") from None
    raise DataError(f"{path} is neither a folder nor a tar nor a zip; give one of these.")


def reopen_source(path: Path, kind: str) -> MediaSource:
    """Open a source whose kind ("folder", "tar" or "zip") is known, without looking at it first."""
    from diptych.media.archives import TarSource, ZipSource  # these build on this module

    kinds: dict[str, type[FolderSource] | type[TarSource] | type[ZipSource]] = {
        "folder": FolderSource,
        "tar": TarSource,
        "zip": ZipSource,
    }
    if kind not in kinds:
        raise DataError(f"{path} is said to be a '{kind}'; a source is one of {', '.join(kinds)}.")
    return kinds[kind](path)


def checked_name(name: str) -> str:
    """Bring a name to a plain relative path.

    Raises:
        RefusedNameError: for an absolute path, a step upwards, or what is no path at all.
    """
    plain = name.replace("\\", "/")
    path = PurePosixPath(plain)
    if not name.strip("./\\ ") or "\0" in name:
        raise RefusedNameError("is no name of a file")
    if path.is_absolute() or (len(plain) > 1 and plain[1] == ":"):
        raise RefusedNameError("is an absolute path; only paths below the images' root are read")
    if ".." in path.parts:
        raise RefusedNameError("leads out of the images' root")
    return path.as_posix()


def is_hidden(name: str) -> bool:
    """Whether a file, or a folder on the way to it, is one that systems keep for themselves."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def hash_places(places: Sequence[Place]) -> str:
    """Hash the names, sizes and stamps of files; the hash changes when any of them does."""
    digest = hashlib.blake2b(digest_size=16)
    for place in places:
        digest.update(f"{place.name}\0{place.size}\0{place.stamp}\0{place.offset}\n".encode())
    return digest.hexdigest()
