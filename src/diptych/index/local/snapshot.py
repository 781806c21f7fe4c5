"""A consistent copy of an index, made while others read and write."""

import os
import shutil
import sqlite3
from pathlib import Path

from diptych._core.files import atomic_folder
from diptych.index.local.derived import FOLDER
from diptych.index.local.locking import locked
from diptych.index.local.schema import FILE, read_state


def write_snapshot(folder: Path, connection: sqlite3.Connection, target: Path, lock: Path) -> Path:
    """Copy the truth as it is at one moment, and the derived files in force then."""
    with atomic_folder(target) as temporary, locked(lock, wait=True):
        connection.execute("BEGIN")
        try:
            name = read_state(connection).derived
            copy = sqlite3.connect(temporary / FILE)
            try:
                connection.backup(copy)
            finally:
                copy.close()
        finally:
            connection.execute("COMMIT")
        source = folder / FOLDER / name
        if name and source.is_dir():
            shutil.copytree(source, temporary / FOLDER / name, copy_function=_link)
    return target


def _link(source: str, target: str) -> None:
    """Derived files never change once written, so a second name for one is as good as a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
