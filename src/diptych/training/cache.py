"""A cache of trained stages on disk: found by a hash of all that decided them, trained only where absent."""

import json
import logging
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from diptych._core.arrays import Features
from diptych._core.code_version import code_version
from diptych._core.errors import ConfigError, DataError
from diptych._core.locks import file_lock
from diptych._core.progress import Progress, silent
from diptych.data.dataset_files import hash_features, hash_records
from diptych.training.distributed import World, pick_device
from diptych.training.loop import Validate, train
from diptych.training.monitoring import History
from diptych.training.settings import LoopSettings
from diptych.training.steps import (
    Objective,
    Record,
    Tensors,
    delete_unfinished,
    hash_tensors,
    read_bundle,
    write_bundle,
)

Input = Features | torch.Tensor | str
_log = logging.getLogger(__name__)


def stage_key(
    stage: str, *, inputs: Mapping[str, Input], options: Mapping[str, Any], upstream: Iterable[str] = ()
) -> str:
    """Hash everything that decides a stage's outcome.

    Args:
        stage: The stage's name.
        inputs: The rows it learns from and is selected on, by name; a string stands for a hash made elsewhere.
        options: Its settings, as JSON values.
        upstream: The keys of the stages whose outcome it reads.
    """
    hashes = {name: hash_input(value) for name, value in inputs.items()}
    try:
        plain = json.dumps(options, sort_keys=True, default=_plain_number)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the options of stage '{stage}' must be plain numbers, words, lists and dicts: {error}."
        ) from None
    return hash_records([stage, hashes, plain, list(upstream)])


def hash_input(value: Input) -> str:
    """Hash rows by content."""
    if isinstance(value, str):
        return value
    if isinstance(value, torch.Tensor):
        return hash_tensors({"": value})
    return hash_features(value)


def _plain_number(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is a {type(value).__name__}")


class StageCache:
    """Trained stages under a root folder; a root of None keeps nothing and finds nothing.

    An entry is one file that appears in one move, so several processes may share a root. A damaged entry
    is as good as none.
    """

    def __init__(self, root: Path | None) -> None:
        self.root = root

    def load(self, key: str) -> tuple[Tensors, Record] | None:
        """Return an entry's tensors and record, or None when there is no sound one."""
        if self.root is None or not self._path(key).exists():
            return None
        try:
            return read_bundle(self._path(key))
        except DataError as error:
            _log.warning("A cached stage is trained again: %s", error)
            return None

    def store(self, key: str, tensors: Tensors, record: Record) -> None:
        """Keep an entry; of two writers of one key, the later stays."""
        if self.root is not None:
            write_bundle(self._path(key), tensors, record)

    def work_folder(self, key: str) -> Path | None:
        """Return the folder for checkpoints and logs while the stage trains."""
        return None if self.root is None else self.root / "unfinished" / key

    def logs(self, key: str) -> Path | None:
        """Return the folder where the logs of a finished stage are kept."""
        return None if self.root is None else self.root / "logs" / key

    def settle(self, key: str) -> None:
        """Keep the logs of a stage that is finished and delete its checkpoints."""
        folder, kept = self.work_folder(key), self.logs(key)
        if folder is None or kept is None or not folder.exists():
            return
        for name in ("log.csv", "validation.csv", "tensorboard"):
            if (folder / name).exists():
                kept.mkdir(parents=True, exist_ok=True)
                (folder / name).replace(kept / name)
        shutil.rmtree(folder, ignore_errors=True)

    def lock(self, key: str) -> AbstractContextManager[object]:
        """Keep other processes from training the same stage at the same time."""
        if self.root is None:
            return nullcontext()
        return file_lock(self.root / "locks" / key, waiting_for="it trains the same stage")

    def delete_unfinished(self, key: str) -> None:
        """Delete what a killed writer left; call it while holding the lock."""
        if self.root is not None:
            delete_unfinished(self._path(key))

    def _path(self, key: str) -> Path:
        if self.root is None:
            raise ConfigError("this cache has no root.")
        return self.root / "stages" / key[:2] / f"{key}.safetensors"


RowsT = TypeVar("RowsT")


@dataclass(frozen=True)
class TrainedStage:
    """A stage's key, which the stages that read its outcome name as upstream, and how it came about.

    Attributes:
        seconds: how long its training took, now or when the cache got it; of a resumed run, the last attempt.
    """

    key: str
    history: History
    from_cache: bool
    seconds: float


def train_cached(
    cache: StageCache,
    stage: str,
    objective: Objective[RowsT],
    settings: LoopSettings,
    *,
    inputs: Mapping[str, Input],
    options: Mapping[str, Any],
    upstream: Sequence[str] = (),
    batches: Callable[[int], RowsT] | None = None,
    count: int | None = None,
    validate: Validate | None = None,
    progress: Progress = silent,
) -> TrainedStage:
    """Bring the objective's module to its trained state: from the cache, by resuming, or by training.

    The key covers the stage's name, its inputs and options, the settings, the upstream keys, the module's
    initial weights and the source of the objective with all it imports. What `batches` and `validate` read must
    therefore be among the inputs (rows, labels, the rows of validation) or come from an upstream stage.

    Of several processes that train together only the first has the key, the lock and the cache; the others follow it.
    Their number is not part of the key, as the device is not: both change only how sums are rounded.

    Example:
        ```python
        first = train_cached(cache, "rbm-1", objective, settings, inputs={"rows": rows}, options={}, count=n)
        second = train_cached(cache, "rbm-2", upper, settings, inputs={}, options={}, upstream=[first.key], count=n)
        ```
    """
    world = World.current()
    key = world.agree(
        lambda: stage_key(
            stage,
            inputs=inputs,
            options={
                "code": code_version(type(objective).__module__),
                "options": options,
                "settings": settings.decisive(),
                "validated": validate is not None,
            },
            upstream=[*upstream, hash_tensors(objective.module.state_dict())],
        )
    )
    cache = cache if world.is_first else StageCache(None)
    with cache.lock(key):
        cache.delete_unfinished(key)
        entry = world.hand_over(cache.load(key))
        folder = cache.work_folder(key)
        if entry is None:
            started = time.perf_counter()
            history = train(
                objective, settings, batches=batches, count=count, validate=validate,
                folder=folder, stage=stage, key=key, progress=progress,
            )  # fmt: skip
            seconds = time.perf_counter() - started
            record: dict[str, Any] = {"stage": stage, "history": history.to_json(), "seconds": seconds}
            cache.store(key, dict(objective.module.state_dict()), record)
        else:
            tensors, record = entry
            objective.module.load_state_dict(tensors)
            objective.module.to(pick_device(settings.device)).eval()
            history, seconds = History.from_json(record["history"]), float(record["seconds"])
        cache.settle(key)
    return TrainedStage(key, history, entry is not None, seconds)
