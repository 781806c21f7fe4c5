"""Open pictures by the path a user gives: a folder, a tar or a zip."""

import tarfile
import zipfile
from pathlib import Path

from diptych._core.errors import DataError
from diptych.ingest.folder_source import FolderSource
from diptych.ingest.picture_sources import PictureSource
from diptych.ingest.tar_source import TarSource
from diptych.ingest.zip_source import ZipSource

_KINDS: dict[str, type[FolderSource] | type[TarSource] | type[ZipSource]] = {
    "folder": FolderSource,
    "tar": TarSource,
    "zip": ZipSource,
}


def open_pictures(path: Path) -> PictureSource:
    """Open a folder or an archive, told apart by its content."""
    return reopen_pictures(path, _kind(path))


def reopen_pictures(path: Path, kind: str) -> PictureSource:
    """Open pictures whose kind is known, without looking at them first."""
    return _KINDS[kind](path)


def _kind(path: Path) -> str:
    if path.is_dir():
        return "folder"
    if not path.exists():
        raise DataError(f"there is no {path}; give the folder, tar or zip with the pictures.")
    try:
        if tarfile.is_tarfile(path):
            return "tar"
        if zipfile.is_zipfile(path):
            return "zip"
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a folder, a tar or a zip.") from None
    raise DataError(f"{path} is neither a folder nor a tar nor a zip; give one of these.")
