"""A cache of trained stages on disk, found again by a hash of everything that decided them."""

import json
import logging
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch

from diptych.arrays import Features
from diptych.data.fingerprint import hash_features, hash_records
from diptych.errors import ConfigError, DataError
from diptych.training.bundle import Record, Tensors, delete_unfinished, hash_tensors, read_bundle, write_bundle
from diptych.training.locking import exclusive

CODE_VERSION = 1
"""Raise it whenever a change of the code changes what a stage computes: every older entry is then out of reach."""

Input = Features | torch.Tensor | str
_log = logging.getLogger(__name__)


def default_cache_root() -> Path:
    """Return `$DIPTYCH_CACHE`, or `~/.cache/diptych` where it is not set."""
    chosen = os.environ.get("DIPTYCH_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "diptych"


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
    return hash_records([CODE_VERSION, stage, hashes, plain, list(upstream)])


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

    def lock(self, key: str) -> AbstractContextManager[None]:
        """Keep other processes from training the same stage at the same time."""
        if self.root is None:
            return nullcontext()
        return exclusive(self.root / "locks" / key, "it trains the same stage")

    def delete_unfinished(self, key: str) -> None:
        """Delete what a killed writer left; call it while holding the lock."""
        if self.root is not None:
            delete_unfinished(self._path(key))

    def _path(self, key: str) -> Path:
        if self.root is None:
            raise ConfigError("this cache has no root.")
        return self.root / "stages" / key[:2] / f"{key}.safetensors"
