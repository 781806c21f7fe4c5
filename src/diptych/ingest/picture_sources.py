"""Where pictures lie, in a folder, a tar or a zip: found by name, read without unpacking, and never outside."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from diptych._core.errors import DataError


class RefusedNameError(DataError):
    """A name that leads nowhere, or out of where it may lead."""


@dataclass(frozen=True)
class Place:
    """Where one picture's bytes are.

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


class PictureSource(ABC):
    """A folder or an archive of pictures.

    Attributes:
        path: of the folder or the archive.
        kind: "folder", "tar" or "zip".
    """

    path: Path
    kind: str

    @abstractmethod
    def locate(self, name: str) -> Place:
        """Find a picture by the name a table gives it.

        Raises:
            RefusedNameError: when it is not there, or leads out of the source; the message is the reason.
        """

    @abstractmethod
    def read(self, place: Place) -> bytes:
        """The picture's bytes.

        Raises:
            OSError: when they cannot be read.
        """

    @abstractmethod
    def names(self) -> list[str]:
        """The names of all files, sorted; hidden ones and those of hidden folders are passed over."""

    @abstractmethod
    def peek(self, place: Place, count: int) -> bytes | None:
        """The first bytes of an image; None where they cannot be had without reading all that is before it.

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

    def __enter__(self) -> "PictureSource":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Close what is open."""


def checked_name(name: str) -> str:
    """A name as a plain relative path.

    Raises:
        RefusedNameError: for an absolute path, a step upwards, or what is no path at all.
    """
    plain = name.replace("\\", "/")
    path = PurePosixPath(plain)
    if not name.strip("./\\ ") or "\0" in name:
        raise RefusedNameError("is no name of a file")
    if path.is_absolute() or (len(plain) > 1 and plain[1] == ":"):
        raise RefusedNameError("is an absolute path; only paths below the pictures' root are read")
    if ".." in path.parts:
        raise RefusedNameError("leads out of the pictures' root")
    return path.as_posix()


def is_hidden(name: str) -> bool:
    """Whether a file, or a folder on the way to it, is one that systems keep for themselves."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def hash_places(places: Sequence[Place]) -> str:
    """One hash that changes when any of the pictures does."""
    digest = hashlib.blake2b(digest_size=16)
    for place in places:
        digest.update(f"{place.name}\0{place.size}\0{place.stamp}\0{place.offset}\n".encode())
    return digest.hexdigest()
