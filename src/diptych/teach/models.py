"""The models that an index was built with, one after another, and the way back to an earlier one."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from diptych._core.errors import BackendUnavailableError, DataError
from diptych._core.files import checked_fields, exchange_folders, interpreting, read_json, write_json
from diptych._core.locks import file_lock
from diptych._core.progress import silent
from diptych.methods import model_fingerprint
from diptych.methods.model_folder import method_name
from diptych.search.handover import take_over_changes
from diptych.search.index_folder import FILE as DESCRIPTION
from diptych.search.index_folder import MODEL_FOLDER, folder_beside, only_builder

KEPT = 3
"""Earlier indexes that are kept to go back to: each takes as much room as the index itself."""
_FILE, _FOLDER, _LOCK = "models.json", "models", "learn.lock"


class UnknownModelError(DataError):
    """A model that no index of this place was built with."""


@dataclass(frozen=True)
class ModelRecord:
    """One model that the index was built with.

    Attributes:
        id: its name here.
        created: when its index came into force, in UTC.
        method: the method that was fitted.
        fingerprint: of the model's files.
        answers: how many answers it was fitted on.
        classes: how many classes these named.
        propagated: to how many other items labels were propagated.
        items: how many items it learned from.
        scores: what was measured, by name.
        seconds: from the start to the swapped index.
        before: the model whose place it took.
    """

    id: str
    created: str
    method: str
    fingerprint: str
    answers: int = 0
    classes: int = 0
    propagated: int = 0
    items: int = 0
    scores: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    before: str | None = None


class Models:
    """The models of one index; what is replaced is kept beside it.

    Args:
        index: the folder of the index.
    """

    def __init__(self, index: str | Path) -> None:
        self.index = Path(index)
        self._folder = folder_beside(self.index)

    def all(self) -> list[ModelRecord]:
        """Every model, the oldest first; the one in force is always among them."""
        known = self._read()
        fingerprint = model_fingerprint(self.index / MODEL_FOLDER)
        if any(record.fingerprint == fingerprint for record in known):
            return known
        made = datetime.fromtimestamp((self.index / DESCRIPTION).stat().st_mtime, UTC)
        return [*known, replace(record_of(_next_id(known), self.index / MODEL_FOLDER), created=_shown(made))]

    def active(self) -> ModelRecord:
        """The model in force."""
        fingerprint = model_fingerprint(self.index / MODEL_FOLDER)
        return next(record for record in reversed(self.all()) if record.fingerprint == fingerprint)

    def get(self, id: str) -> ModelRecord:
        """One model.

        Raises:
            UnknownModelError: when there is none of this name.
        """
        for record in self.all():
            if record.id == id:
                return record
        raise UnknownModelError(f"there is no model {id[:80]!r}; list them to see which there are.")

    def is_kept(self, id: str) -> bool:
        """Whether the index of a model is there, in force or to go back to."""
        return self.active().id == id or (self.place_of(id) / DESCRIPTION).is_file()

    def place_of(self, id: str) -> Path:
        """Where the index of a model is kept while another is in force."""
        return self._folder / _FOLDER / id

    def free_place(self, id: str) -> Path:
        """That place, with nothing there: what an interrupted exchange may have left is deleted."""
        shutil.rmtree(self.place_of(id), ignore_errors=True)
        return self.place_of(id)

    def next_id(self) -> str:
        """The name of the model to come."""
        return _next_id(self.all())

    def note(self, record: ModelRecord, known: list[ModelRecord]) -> None:
        """Keep the record of a model beside those known before it took its place; old indexes make room."""
        write_json(self._folder / _FILE, [asdict(each) for each in [*known, record]])
        self._make_room()

    def activate(self, id: str, *, url: str | None = None) -> ModelRecord:
        """Put an earlier index back, with all that was changed since; the one in force is kept in turn.

        Args:
            id: the model it was built with.
            url: of the vector database, for indexes whose vectors are in one.

        Raises:
            UnknownModelError: when there is no such model.
            DataError: when its index is not kept any more.
            BackendUnavailableError: while another model is being learned or put back.
        """
        with self.changing():
            known, wanted, active = self.all(), self.get(id), self.active()
            if wanted.id == active.id:
                return wanted
            kept = self.place_of(id)
            if not (kept / DESCRIPTION).is_file() or model_fingerprint(kept / MODEL_FOLDER) != wanted.fingerprint:
                raise DataError(f"the index of model {id} is not kept any more; learn again instead.")
            target, former = self.index.resolve(), self.free_place(active.id)
            with only_builder(target):
                work = _KeptIndex(kept)
                with work.until_replaced:
                    take_over_changes(work, target, url, silent)
                    exchange_folders(kept, target)
                    kept.rename(former)
            write_json(self._folder / _FILE, [asdict(each) for each in known])
        return wanted

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep all others from changing which model is in force.

        Raises:
            BackendUnavailableError: when another process does so now.
        """
        with file_lock(self._folder / _LOCK, timeout_s=0) as mine:
            if not mine:
                raise BackendUnavailableError("a model is being learned or put back; wait for it to end, or cancel it.")
            yield

    def is_changing(self) -> bool:
        """Whether a process learns or puts back a model now."""
        with file_lock(self._folder / _LOCK, timeout_s=0) as free:
            return not free

    def _read(self) -> list[ModelRecord]:
        file = self._folder / _FILE
        if not file.exists():
            return []
        with interpreting(file, "delete it; the index itself is not concerned"):
            return [checked_fields(ModelRecord(**written)) for written in read_json(file)]

    def _make_room(self) -> None:
        folder = self._folder / _FOLDER
        kept = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
        for path in kept[:-KEPT]:
            shutil.rmtree(path, ignore_errors=True)


@dataclass
class _KeptIndex:
    """An index that was replaced and kept, about to take its place again."""

    path: Path
    until_replaced: ExitStack = field(default_factory=ExitStack)


def record_of(id: str, folder: Path, **known: object) -> ModelRecord:
    """The record of a model in a folder, created now."""
    record = ModelRecord(id, _shown(datetime.now(UTC)), method_name(folder), model_fingerprint(folder))
    return replace(record, **known)  # type: ignore[arg-type]


def _next_id(known: list[ModelRecord]) -> str:
    return f"m{1 + max((int(record.id[1:]) for record in known), default=0):04d}"


def _shown(time: datetime) -> str:
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")
