"""Make the shards of all modalities: what there is to do, what is done, how fast it goes."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diptych._core.arrays import Integers
from diptych._core.errors import DataError
from diptych._core.progress import Progress
from diptych.features import Pipeline
from diptych.ingest.plan import Plan
from diptych.ingest.row_cache import rows_folder, trim
from diptych.ingest.shards import read_shard, shard_path
from diptych.ingest.work_folder import WorkFolder
from diptych.ingest.workers import Setting, Task, run_tasks

_SHARD_UNITS = {"image": 64, "text": 1024}


@dataclass(frozen=True)
class Units:
    """What one modality's rows are made of.

    Attributes:
        modality: its name.
        medium: "image" or "text".
        units: places of pictures, or texts.
        unit_of_item: for each item the number of its unit, -1 for none.
    """

    modality: str
    medium: str
    units: Sequence[Any]
    unit_of_item: Integers

    def tasks(self) -> Iterator[Task]:
        """The units cut into shards, the same ones whoever makes them."""
        size = _SHARD_UNITS[self.medium]
        for number, start in enumerate(range(0, len(self.units), size)):
            yield Task(self.modality, number, self.units[start : start + size])


def units_of(plan: Plan, pipeline: Pipeline) -> list[Units]:
    """The units of every modality that some item has."""
    has_text = np.array([bool(item.texts) for item in plan.items])
    of_medium = {
        "image": (plan.places, plan.place_of_item),
        "text": (plan.texts, np.where(has_text, np.cumsum(has_text) - 1, -1)),
    }
    found = [Units(name, part.medium, *of_medium[part.medium]) for name, part in pipeline.modalities.items()]
    return [units for units in found if len(units.units)]


def extract(
    plan: Plan, everything: Sequence[Units], work: WorkFolder, workers: int, progress: Progress
) -> dict[str, int]:
    """Make the shards that are not there yet, of one modality after the other.

    Returns:
        By modality, how many of their units an earlier ingest had described already.
    """
    reused = {units.modality: 0 for units in everything}
    options = plan.options
    waiting: list[Task] = []
    pace = {units.modality: _Pace(f"{units.modality} features", len(units.units), progress) for units in everything}
    for task in (task for units in everything for task in units.tasks()):
        if shard_path(work.shards, task.modality, task.number).exists():
            _check_broken(plan, task, work)
            pace[task.modality].done += len(task.units)
        else:
            waiting.append(task)
    setting = Setting(
        work.pipeline,
        work.shards,
        plan.source_path,
        plan.source_kind,
        options.max_pixels,
        options.max_bytes,
        rows_folder() if options.reuse else None,
    )
    if not waiting:
        return reused
    pace[waiting[0].modality].start(time.perf_counter())
    last = time.perf_counter()
    for task, known in run_tasks(waiting, setting, workers):
        _check_broken(plan, task, work)
        reused[task.modality] += known
        pace[task.modality].start(last)
        last = time.perf_counter()
        pace[task.modality].advance(len(task.units))
    trim(setting.cache)
    return reused


class _Pace:
    """How far one modality is, and how fast it goes since it was taken up."""

    def __init__(self, stage: str, total: int, progress: Progress) -> None:
        self._stage, self._total, self._progress = stage, total, progress
        self._started, self._fresh = 0.0, 0
        self.done = 0

    def start(self, at: float) -> None:
        """Begin to measure, once."""
        if not self._started:
            self._started = at
            self._progress(self._stage, self.done, self._total)

    def advance(self, count: int) -> None:
        """So many more are done."""
        self.done += count
        self._fresh += count
        rate = self._fresh / max(time.perf_counter() - self._started, 1e-6)
        self._progress(self._stage, self.done, self._total, {"per second": rate})


def _check_broken(plan: Plan, task: Task, work: WorkFolder) -> None:
    """End the work at a broken item if the user wants that."""
    if plan.options.on_broken != "fatal":
        return
    shard = read_shard(shard_path(work.shards, task.modality, task.number))
    for unit, reason in zip(task.units, shard.reasons, strict=True):
        if reason:
            raise DataError(f"{getattr(unit, 'name', 'a text')}: {reason}; mend it, or pass --on-broken skip.")
