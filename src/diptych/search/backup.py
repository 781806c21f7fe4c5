"""Verify an index, write it into one file, and make an index of such a file again.

A backup is a tar archive: `backup.json` with the size and SHA-256 of every other member, a copy of each database as it
was at one moment, and the model and the small files beside them. What can be computed again is left out.
"""

import hashlib
import json
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from diptych._core.errors import ConfigError, DataError, DiptychError
from diptych._core.files import (
    atomic_file,
    atomic_folder,
    explained_writes,
    is_disk_full,
    refuse_existing,
    temporary_folder,
)
from diptych.index import EngineLocation, Index
from diptych.index import restore_index as restore_engine
from diptych.methods.model_folder import model_problems
from diptych.search.entries import FILE as KEYS_FILE
from diptych.search.index_folder import (
    CALIBRATION_FILE,
    LABELS_FILE,
    MEDIA_FOLDER,
    MODEL_FOLDER,
    Description,
    check_target,
    folder_beside,
    write_lock,
)
from diptych.search.index_folder import FILE as DESCRIPTION_FILE
from diptych.search.media_store import MediaStore
from diptych.search.probability.calibration import read_calibration
from diptych.search.texts import FOLDER as TEXTS_FOLDER
from diptych.search.texts import TextsPlan

_HEAD, _FORMAT, _FORMAT_VERSION = "backup.json", "diptych-backup", 1
_VECTORS, _TEXTS = "engine/vectors", "engine/texts"
_FILES = (DESCRIPTION_FILE, CALIBRATION_FILE, KEYS_FILE, "projection.json", "projection.npy")
_LARGEST_HEAD = 16 * 2**20


def verify_index(folder: str | Path, *, url: str | None = None) -> list[str]:
    """Read everything in an index and compare it with its checksums.

    Args:
        folder: the index.
        url: of the vector database, for an index whose vectors are in one.

    Returns:
        What is wrong, one sentence each; empty if nothing is.
    """
    path, problems = Path(folder), list[str]()
    known = Description.read(path)
    checks: dict[str, Callable[[], list[str]]] = {
        "the vectors": lambda: _verify_engine(path, known, url, texts=False),
        "the texts": lambda: _verify_engine(path, known, url, texts=True),
        "the images": lambda: _verify_media(path),
        "the model": lambda: model_problems(path / MODEL_FOLDER),
        "the probabilities": lambda: _verify_calibration(path),
    }
    for name, check in checks.items():
        try:
            problems += [f"{name}: {problem}" for problem in check()]
        except ConfigError:
            raise
        except DiptychError as error:
            problems.append(f"{name}: {error}")
    return problems


def backup_index(folder: str | Path, file: str | Path) -> Path:
    """Write an index into one file, as it is at one moment, while others search it; writers wait.

    Raises:
        ConfigError: when its vectors are in a vector database, which has tools of its own.
        DataError: when the file is there already.
    """
    path, target = Path(folder), Path(file)
    known = Description.read(path)
    if known.place is not None:
        raise ConfigError(f"the vectors of {path} are in {known.engine}; back it up with the tools of that database.")
    refuse_existing(target, overwrite=False)
    with atomic_file(target) as temporary, temporary_folder(target) as copies:
        with write_lock(path):
            _copy(path, known, copies)
        names = sorted(each.relative_to(copies).as_posix() for each in copies.rglob("*") if each.is_file())
        with tarfile.open(temporary, "w") as archive:
            head = {"format": _FORMAT, "format_version": _FORMAT_VERSION}
            sums = {name: [(copies / name).stat().st_size, _sha256(copies / name)] for name in names}
            content = json.dumps(head | {"files": sums}, indent=2).encode()
            member = tarfile.TarInfo(_HEAD)
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
            for name in names:
                archive.add(copies / name, arcname=name, recursive=False)
    return target


def restore_backup(file: str | Path, folder: str | Path, *, overwrite: bool = False) -> None:
    """Make an index of a backup; the folder appears when it is whole and was compared with its checksums.

    Raises:
        DataError: when the file is not a backup, or is damaged, or the folder is there already.
    """
    source, target = Path(file), Path(folder)
    check_target(target, overwrite=overwrite)
    with explained_writes(target, "restore it again"), ExitStack() as folders:
        if (target / DESCRIPTION_FILE).is_file():
            folders.enter_context(write_lock(target))  # what is written meanwhile goes into what is restored
        temporary = folders.enter_context(atomic_folder(target, overwrite=overwrite))
        work = folders.enter_context(temporary_folder(target.resolve()))
        copies = work / "copies"
        _extract(source, copies)
        for name, place in ((_VECTORS, temporary), (_TEXTS, temporary / TEXTS_FOLDER)):
            if (copies / name).is_file():
                restore_engine(copies / name, work / "engine")
                shutil.copytree(work / "engine", place, dirs_exist_ok=True)
                shutil.rmtree(work / "engine")
        shutil.rmtree(copies / _VECTORS.partition("/")[0])
        labels = Path(work) / LABELS_FILE
        if (copies / LABELS_FILE).is_file():
            (copies / LABELS_FILE).rename(labels)
        shutil.copytree(copies, temporary, dirs_exist_ok=True)
        problems = verify_index(temporary)
        if problems:
            raise DataError(f"{source} is damaged: {problems[0]}; restore another backup.")
        if labels.is_file():
            _restore_labels(labels, folder_beside(target) / LABELS_FILE, source)


def _restore_labels(saved: Path, target: Path, source: Path) -> None:
    """Put the labels of a backup where they belong; those given since the backup was written are kept."""
    target.parent.mkdir(exist_ok=True)
    try:
        if not target.exists():
            with atomic_file(target) as temporary:
                shutil.copyfile(saved, temporary)
            return
        with closing(sqlite3.connect(target)) as there, there:
            there.execute("ATTACH ? AS saved", (str(saved),))
            there.execute(
                "INSERT OR REPLACE INTO labels SELECT s.* FROM saved.labels AS s LEFT JOIN labels AS t USING (item)"
                " WHERE t.item IS NULL OR t.time < s.time"
            )
            there.execute(
                "INSERT INTO history (item, answer, label, who, time, source)"
                " SELECT item, answer, label, who, time, source FROM labels"
            )
    except sqlite3.Error as error:
        raise DataError(f"the labels in {source} cannot be restored ({error}); restore another backup.") from None


def _copy(folder: Path, known: Description, copies: Path) -> None:
    """Copy everything that cannot be computed again, while nobody writes."""
    (copies / _VECTORS).parent.mkdir(parents=True)
    with _engine(folder, known, None, texts=False) as index:
        index.backup(copies / _VECTORS)
    if TextsPlan.from_json(known.texts) is not None:
        with _engine(folder, known, None, texts=True) as index:
            index.backup(copies / _TEXTS)
    store = MediaStore(folder / MEDIA_FOLDER, writable=False)
    try:
        store.snapshot(copies / MEDIA_FOLDER)
    finally:
        store.close()
    labels = folder_beside(folder) / LABELS_FILE
    if labels.is_file():
        with closing(sqlite3.connect(labels)) as here, closing(sqlite3.connect(copies / LABELS_FILE)) as copy:
            here.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
    shutil.copytree(folder / MODEL_FOLDER, copies / MODEL_FOLDER)
    for name in _FILES:
        if (folder / name).is_file():
            shutil.copy2(folder / name, copies / name)


def _engine(folder: Path, known: Description, url: str | None, *, texts: bool) -> Index:
    location = EngineLocation.found(known.engine, url if known.place else None, known.place, known.url)
    if not texts:
        return location.open(folder, writable=False)
    plan = TextsPlan.from_json(known.texts)
    assert plan is not None
    beside = EngineLocation(plan.engine, location.url if plan.place else None, plan.place)
    return beside.open(folder / TEXTS_FOLDER, writable=False)


def _verify_engine(folder: Path, known: Description, url: str | None, *, texts: bool) -> list[str]:
    if texts and TextsPlan.from_json(known.texts) is None:
        return []
    with _engine(folder, known, url, texts=texts) as index:
        return index.verify()


def _verify_media(folder: Path) -> list[str]:
    store = MediaStore(folder / MEDIA_FOLDER, writable=False)
    try:
        return store.problems()
    finally:
        store.close()


def _verify_calibration(folder: Path) -> list[str]:
    read_calibration(folder / CALIBRATION_FILE)
    return []


def _extract(source: Path, copies: Path) -> None:
    """Write the members of a backup as files, if each is what the backup says it is and nothing else is there."""
    try:
        with ExitStack() as opened:
            archive = opened.enter_context(tarfile.open(source))
            sums = _read_head(source, archive)
            for member in _members(archive):
                if member.name not in sums:
                    raise DataError(f"{source} holds {member.name!r:.80}, which no backup of diptych does.")
                size, sha256 = sums.pop(member.name)
                content = archive.extractfile(member)
                if content is None or member.size != size or _write(content, copies / member.name) != sha256:
                    raise DataError(f"{source} is damaged: {member.name!r:.80} is not what was written.")
            if sums:
                raise DataError(f"{source} is damaged: {next(iter(sums))!r:.80} is missing.")
    except OSError as error:
        if is_disk_full(error):
            raise
        raise DataError(f"{source} cannot be read ({error.strerror or error}); give the file of a backup.") from None
    except (tarfile.TarError, EOFError) as error:
        raise DataError(f"{source} is not a backup that can be read ({error}).") from None


def _read_head(source: Path, archive: tarfile.TarFile) -> dict[str, tuple[int, str]]:
    first = archive.next()
    content = archive.extractfile(first) if first is not None and first.name == _HEAD else None
    if content is None:
        raise DataError(f"{source} is not a backup of diptych; give a file that `diptych backup` wrote.")
    try:
        head = json.loads(content.read(_LARGEST_HEAD))
        version = head["format"], head["format_version"]
        sums = {str(name): (int(size), str(sha256)) for name, (size, sha256) in head["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{source} is damaged: {_HEAD} cannot be read.") from None
    if version != (_FORMAT, _FORMAT_VERSION):
        raise DataError(f"{source} says format {version}; this diptych reads {(_FORMAT, _FORMAT_VERSION)}.")
    return sums


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members after the head: files whose name leads nowhere else."""
    while (member := archive.next()) is not None:
        parts = PurePosixPath(member.name).parts
        if not member.isfile() or member.name.startswith("/") or ".." in parts or "\\" in member.name:
            raise DataError(f"a backup holds plain files only, and {member.name!r:.80} is none.")
        yield member


def _write(content: IO[bytes], target: Path) -> str:
    """Write a member and return its SHA-256."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("wb") as file:
        while block := content.read(2**20):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
