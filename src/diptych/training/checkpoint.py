"""Checkpoints: one safetensors file a stage, replaced in one move, read only by the run that wrote it."""

import logging
from pathlib import Path
from typing import Any, Literal

from diptych.errors import ConfigError, DataError
from diptych.training.bundle import Record, Tensors, delete_unfinished, read_bundle, write_bundle
from diptych.training.run import Run

CHECKPOINT = "checkpoint.safetensors"
Resume = Literal["same", "changed", "never"]
_log = logging.getLogger(__name__)


def write_checkpoint(folder: Path, run: Run) -> None:
    """Replace the folder's checkpoint by the run as it is."""
    write_bundle(folder / CHECKPOINT, *run.to_bundle())
    run.saved_step = run.step


def read_checkpoint(folder: Path) -> tuple[Tensors, Record]:
    """Read a checkpoint: tensors named `module.*`, `optimizer.*`, `best.*`, and the record with step and history.

    Raises:
        DataError: If there is none, or it is damaged.
    """
    return read_bundle(folder / CHECKPOINT)


def resume_run(run: Run, folder: Path, resume: Resume) -> None:
    """Bring the run to where the folder's checkpoint left it, or leave it fresh and say why.

    `same` takes up only the very same stage, settings and key, `changed` takes up the stage under other
    settings, `never` starts over.
    """
    path = folder / CHECKPOINT
    delete_unfinished(path)
    if resume == "never" or not path.exists():
        return
    try:
        tensors, record = read_bundle(path)
    except DataError as error:
        _log.warning("%s Training starts over.", error)
        return
    if record["identity"] != run.identity:
        differences = _differences(record["made_by"], run.made_by)
        if resume == "same":
            _log.warning("The checkpoint in %s is of another run (%s); training starts over.", folder, differences)
            return
        _log.warning("Training goes on from step %d with changes: %s.", record["step"], differences)
        record["finished"] = record["step"] >= run.settings.steps
    try:
        run.restore(tensors, record)
    except (RuntimeError, KeyError) as error:  # RuntimeError is how torch reports other shapes or names
        raise ConfigError(
            f"the checkpoint in {folder} does not fit this network ({error}); empty the folder."
        ) from None


def _differences(before: dict[str, Any], now: dict[str, Any]) -> str:
    return ", ".join(f"{name} {before.get(name)} -> {now[name]}" for name in now if before.get(name) != now[name])
