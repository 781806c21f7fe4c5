"""Where an index grows until it is whole: beside its target, and found again after an interruption."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diptych._core.errors import DataError
from diptych._core.files import atomic_folder, read_json, write_json
from diptych.index.local.locking import locked
from diptych.search.description import FILE as DESCRIPTION

_STATE = "building.json"


class WorkFolder:
    """An index that is being built.

    Attributes:
        path: the folder; it does not exist before the engine has made it.
        resumed: whether it holds earlier work on the same inputs.
        has_texts: whether the index of the texts has been made.
    """

    def __init__(self, path: Path, inputs: Mapping[str, Any]) -> None:
        self.path = path
        self._inputs = dict(inputs)
        self._done: dict[str, int] = {}
        self.has_texts = False
        self._name = f"{path.name.removeprefix('.').removesuffix('.building')}-{os.urandom(4).hex()}"
        self.resumed = self._take_up()

    @property
    def server_name(self) -> str:
        """What the index is called on a server: its folder's name and something no other has."""
        return self._name

    def begin(self) -> None:
        """Note for what inputs the work is."""
        self._write()

    def done(self, modality: str) -> int:
        """How many items of a modality are safely in."""
        return self._done.get(modality, 0)

    def mark(self, modality: str, count: int) -> None:
        """Note that so many items are in."""
        self._done[modality] = count
        self._write()

    def note_texts(self) -> None:
        """Note that the index of the texts has been made."""
        self.has_texts = True
        self._write()

    def _write(self) -> None:
        state = {"inputs": self._inputs, "done": self._done, "name": self._name, "texts": self.has_texts}
        write_json(self.path / _STATE, state)

    def _take_up(self) -> bool:
        if not self.path.exists():
            return False
        state = read_json(self.path / _STATE) if (self.path / _STATE).exists() else {}
        if state.get("inputs") == self._inputs:
            self._done, self._name = state["done"], state["name"]
            self.has_texts = bool(state.get("texts"))
            return True
        shutil.rmtree(self.path)
        return False


@contextmanager
def work_folder(target: Path, inputs: Mapping[str, Any], *, overwrite: bool) -> Iterator[WorkFolder]:
    """Yield the work folder of a target, for this process alone; it becomes the target when the block succeeds.

    When the block fails the folder stays, and the same inputs take it up; others start anew.
    """
    check_target(target, overwrite=overwrite)
    target = target.resolve()
    lock = target.with_name(f".{target.name}.lock")
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(lock, wait=False) as mine:
        if not mine:
            raise DataError(f"another process is building {target}; wait for it to end.")
        try:
            work = WorkFolder(target.with_name(f".{target.name}.building"), inputs)
            yield work
            with atomic_folder(target, overwrite=overwrite) as temporary:
                (work.path / _STATE).unlink()  # from here on a kill means to start anew, never to go on with half of it
                for path in sorted(work.path.iterdir()):
                    path.rename(temporary / path.name)
            work.path.rmdir()
        finally:
            lock.unlink(missing_ok=True)


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is in use, before any work is done; only an index may be overwritten."""
    if not target.exists():
        return
    if not overwrite:
        raise DataError(f"{target} already exists; choose another folder or pass --overwrite.")
    if not (target / DESCRIPTION).is_file() and not (target.is_dir() and not any(target.iterdir())):
        raise DataError(f"{target} is not an index, so it is not overwritten; choose another folder.")
