"""A consistent copy of an index, made while others read and write."""

import os
import shutil
import sqlite3
from pathlib import Path

from diptych._core.files import atomic_folder
from diptych._core.locks import file_lock
from diptych.index.local.database import FILE, read_state
from diptych.index.local.derived import FOLDER, LOCK, locked_too_long


def write_snapshot(folder: Path, connection: sqlite3.Connection, target: Path, *, wait_s: float) -> Path:
    """Copy the truth as it is at one moment, and the derived files in force then."""
    with atomic_folder(target) as temporary, file_lock(folder / LOCK, timeout_s=wait_s) as mine:
        if not mine:
            raise locked_too_long(wait_s)
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
