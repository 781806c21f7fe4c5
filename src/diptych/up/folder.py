"""The folder of one search: its dataset, model and index, what they were made from, and who serves it now."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from diptych._core.errors import ConfigError, DataError
from diptych._core.files import read_json, write_json
from diptych._core.locks import file_lock

_SUFFIX = "-search"
_LOCK, _SERVING, _MANIFEST = "lock", "serving.json", "up.sqlite"


@dataclass(frozen=True)
class SearchFolder:
    """Where everything is kept that `diptych up` makes.

    Attributes:
        path: the folder.
    """

    path: Path

    @property
    def dataset(self) -> Path:
        """The items and their features, as the model saw them."""
        return self.path / "dataset"

    @property
    def model(self) -> Path:
        """The fitted model."""
        return self.path / "model"

    @property
    def index(self) -> Path:
        """The index that is searched."""
        return self.path / "index"

    @property
    def manifest(self) -> Path:
        """Which files and rows the others were made from."""
        return self.path / _MANIFEST

    @contextmanager
    def claimed(self) -> Iterator[bool]:
        """Hold the folder for this process alone; yields False, at once, if another process holds it.

        Raises:
            DataError: when the folder cannot be made, or is in use for something else.
        """
        self._check()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / _LOCK).touch()
        except OSError as error:
            raise DataError(f"{self.path} cannot be written ({error.strerror}); choose another --out.") from None
        with file_lock(self.path / _LOCK, timeout_s=0) as mine:
            yield mine

    @contextmanager
    def announced(self, address: str) -> Iterator[None]:
        """Say for as long as the block lasts where this search is served."""
        write_json(self.path / _SERVING, {"address": address, "pid": os.getpid()})
        try:
            yield
        finally:
            (self.path / _SERVING).unlink(missing_ok=True)

    def address(self) -> str | None:
        """Where the process that holds the folder serves it; None if it has not come so far."""
        file = self.path / _SERVING
        return str(read_json(file)["address"]) if file.exists() else None

    def _check(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise DataError(f"{self.path} is a file; choose another --out.")
        if self.path.is_dir() and any(self.path.iterdir()) and not (self.path / _LOCK).exists():
            raise DataError(
                f"{self.path} holds something else than a search; choose a new folder or an earlier search with --out."
            )


def search_folder(source: Path, out: Path | None) -> SearchFolder:
    """The folder for a source: the one asked for, or NAME-search in the working directory.

    A folder of images must not hold its own search, which would be read as part of it: by default the search then
    stands beside it.

    Raises:
        ConfigError: when the folder asked for lies inside the source.
    """
    inside = source.resolve()
    if out is not None:
        if source.is_dir() and out.resolve().is_relative_to(inside):
            raise ConfigError(f"--out {out} lies inside {source}, which is read as data; choose a folder outside it.")
        return SearchFolder(out)
    name = (source.name if source.is_dir() else _stem(source)) or inside.name or "data"
    beside = Path(f"{name}{_SUFFIX}")
    if source.is_dir() and beside.resolve().is_relative_to(inside):
        return SearchFolder(inside.parent / f"{inside.name or 'data'}{_SUFFIX}")
    return SearchFolder(beside)


def source_name(source: Path) -> str:
    """What to call the data of a source."""
    resolved = source.resolve()
    return (resolved.name if source.is_dir() else _stem(source)) or "data"


def _stem(file: Path) -> str:
    """A file's name without its endings: both of them for .tar.gz and the like."""
    stem = file.stem
    return stem.removesuffix(".tar") or stem
