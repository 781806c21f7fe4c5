"""The folder of an index: its description, who may write, what stands beside it, and the folder it is built in."""

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from diptych._core.errors import BackendUnavailableError, DataError
from diptych._core.files import atomic_folder, checked_fields, interpreting, read_json, refuse_existing, write_json
from diptych._core.locks import file_lock

FILE = "searcher.json"
MODEL_FOLDER, MEDIA_FOLDER, CALIBRATION_FILE = "model", "media", "calibration.json"
FORMAT = "diptych-search"
FORMAT_VERSION = 1
_STATE = "building.json"
REBUILD = "restore it from a backup, or build the index again with `diptych index`"
_WRITE_LOCK = "write.lock"
_WAIT_S = 10.0
_PAUSES_S = (0.0, 0.01, 0.1, 0.5)


@dataclass(frozen=True)
class Description:
    """What was known when the index was built.

    Attributes:
        dataset: its name and fingerprint.
        classes: how many entries of each modality each class had.
        splits: how many entries of each modality each split had.
        engine: which engine stores the vectors.
        url: of the server that has them, without a password; None if they are in the index's own folder.
        place: what the index is called on that server.
        sources: folders and archives that hold the original images.
        attribution: what the images' makers ask to be said.
        examples: words to try.
        spaces: of the vectors, as `IndexSpaces` writes them; empty where the model has a single space.
        texts: which texts can be found by their words, as `TextsPlan` writes it; empty where none can.
        keys: what the metadata of entries may hold, to condition on.
        documents: how many documents there were; None if unknown.
        entries: how many entries of each modality there were.
        own_documents: whether every item was a document of its own.
        origin: the folder of the dataset, as seen from the index's folder; empty where it had none.
    """

    dataset: dict[str, str]
    classes: dict[str, dict[str, int]]
    splits: dict[str, dict[str, int]]
    engine: str = "local"
    url: str | None = None
    place: str | None = None
    sources: list[dict[str, str]] = field(default_factory=list)
    attribution: str = ""
    examples: list[str] = field(default_factory=list)
    spaces: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, Any] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    documents: int | None = None
    entries: dict[str, int] = field(default_factory=dict)
    own_documents: bool = False
    origin: str = ""

    def write(self, folder: Path) -> None:
        """Keep it in an index's folder."""
        write_json(folder / FILE, {"format": FORMAT, "format_version": FORMAT_VERSION} | asdict(self))

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a folder is that of an index."""
        return (folder / FILE).is_file()

    @classmethod
    def read(cls, folder: Path) -> "Description":
        """Read it from an index's folder."""
        if not (folder / FILE).is_file():
            raise DataError(f"{folder} is no index; run `diptych index MODEL DATASET --out INDEX` to make one.")
        written = read_json(folder / FILE)
        with interpreting(folder / FILE, REBUILD):
            found = written.pop("format", None), written.pop("format_version", None)
            if found != (FORMAT, FORMAT_VERSION):
                raise DataError(f"{folder / FILE} says format {found}; this diptych reads {(FORMAT, FORMAT_VERSION)}.")
            return checked_fields(cls(**written))


LABELS_FILE = "labels.sqlite"


def folder_beside(folder: Path) -> Path:
    """Where labels and earlier models are kept: beside an index, for they outlive it when it is built anew.

    >>> folder_beside(Path("/data/photos/index")).name
    'index.teach'
    """
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.teach")


def generation_of(folder: Path) -> tuple[int, int]:
    """What tells the index at a path from others that were or will be there; costs one look at the file system.

    Raises:
        BackendUnavailableError: when there is none.
    """
    for pause in _PAUSES_S:  # where two folders cannot be exchanged in one step there is none for a moment
        try:
            found = (folder / FILE).stat()
            return found.st_ino, found.st_mtime_ns
        except OSError:
            time.sleep(pause)
    raise BackendUnavailableError("the folder of the index is gone; put it back, or stop the server.")


@contextmanager
def write_lock(folder: Path, wait_s: float | None = None) -> Iterator[None]:
    """Keep all others from changing an index or replacing its folder.

    Args:
        folder: the index.
        wait_s: how long to wait for another process that does; ten seconds by default.

    Raises:
        BackendUnavailableError: when another process holds the lock for too long.
    """
    generation_of(folder)
    with file_lock(folder / _WRITE_LOCK, timeout_s=_WAIT_S if wait_s is None else wait_s) as mine:
        if not mine:
            raise BackendUnavailableError("the index is being changed by another process; try again in a moment.")
        yield


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse a folder that is in use, before any work is done; only an index may be overwritten."""
    refuse_existing(target, overwrite=overwrite, only=(FILE, "an index"))


class WorkFolder:
    """An index that is being built.

    Attributes:
        path: the folder; it does not exist before the engine has made it.
        resumed: whether it holds earlier work on the same inputs.
        has_texts: whether the index of the texts has been made.
        until_replaced: what is held until the folder has taken the place of its target.
    """

    def __init__(self, path: Path, inputs: Mapping[str, Any]) -> None:
        self.path = path
        self._inputs = dict(inputs)
        self._done: dict[str, int] = {}
        self.has_texts = False
        self.until_replaced = ExitStack()
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
def work_folder(
    target: Path, inputs: Mapping[str, Any], *, overwrite: bool, former: Path | None = None
) -> Iterator[WorkFolder]:
    """Yield the work folder of a target, for this process alone; it becomes the target when the block succeeds.

    When the block fails the folder stays, and the same inputs take it up; others start anew.

    Args:
        target: the index's folder.
        inputs: what it is built of.
        overwrite: whether it may replace an index.
        former: where to keep the index that is replaced; None deletes it.
    """
    check_target(target, overwrite=overwrite)
    target = target.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with only_builder(target):
        work = WorkFolder(target.with_name(f".{target.name}.building"), inputs)
        with work.until_replaced:
            yield work
            _put_in_place(work, target, overwrite=overwrite, former=former)


@contextmanager
def only_builder(target: Path) -> Iterator[None]:
    """Keep all others from building an index for a target.

    Raises:
        DataError: when another process does so.
    """
    lock = target.with_name(f".{target.name}.lock")
    with file_lock(lock, timeout_s=0) as mine:
        if not mine:
            raise DataError(f"another process is building {target}; wait for it to end.")
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _put_in_place(work: WorkFolder, target: Path, *, overwrite: bool, former: Path | None) -> None:
    with atomic_folder(target, overwrite=overwrite, former=former) as temporary:
        (work.path / _STATE).unlink()  # from here on a kill means to start anew, never to go on with half of it
        for path in sorted(work.path.iterdir()):
            path.rename(temporary / path.name)
    work.path.rmdir()
