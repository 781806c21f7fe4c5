"""Consistent copies of an index, made while others read and write: a folder, or one file."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from diptych._core.errors import DataError
from diptych._core.files import atomic_file, atomic_folder, refuse_existing
from diptych._core.locks import file_lock
from diptych.index.local.database import FILE, open_database, read_state
from diptych.index.local.derived import FOLDER, LOCK, locked_too_long
from diptych.index.local.integrity import require_intact


def write_snapshot(folder: Path, connection: sqlite3.Connection, target: Path, *, wait_s: float) -> Path:
    """Copy an index as it is at one moment, with the derived files in force then."""
    with atomic_folder(target) as temporary, file_lock(folder / LOCK, timeout_s=wait_s) as mine:
        if not mine:
            raise locked_too_long(wait_s)
        connection.execute("BEGIN")
        try:
            name = read_state(connection).derived
            _copy(connection, temporary / FILE)
        finally:
            connection.execute("COMMIT")
        source = folder / FOLDER / name
        if name and source.is_dir():
            shutil.copytree(source, temporary / FOLDER / name, copy_function=_link)
    return target


def write_backup(connection: sqlite3.Connection, target: Path) -> Path:
    """Copy the database as it is at one moment into one file; derived files are left out, they can be made again."""
    refuse_existing(target, overwrite=False)
    with atomic_file(target) as temporary:
        _copy(connection, temporary)
        with closing(sqlite3.connect(temporary, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            copy.execute("UPDATE state SET derived = ''")
    return target


def restore(file: Path | str, place: Path | str) -> None:
    """Make an index of a file that `write_backup` wrote; the folder appears when it is whole and was checked."""
    source = Path(file)
    if not source.is_file():
        raise DataError(f"{source} is no file; give the file of a backup.")
    with atomic_folder(Path(place)) as temporary:
        shutil.copyfile(source, temporary / FILE)
        open_database(temporary / FILE, wait_s=1).close()
        require_intact(temporary)


def _copy(connection: sqlite3.Connection, target: Path) -> None:
    with closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)


def _link(source: str, target: str) -> None:
    """Derived files never change once written, so a second name for one is as good as a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
