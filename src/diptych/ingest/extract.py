"""Fit the features on training items, and make the shards of all modalities."""

import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diptych._core.arrays import Integers
from diptych._core.errors import DataError
from diptych._core.processes import Executor
from diptych._core.progress import Progress
from diptych._core.seeding import generator
from diptych.data.dataset_files import hash_records
from diptych.features import FittedModality, Pipeline, fit_pipeline, load_pipeline, make_feature, save_pipeline
from diptych.features.contract import learns
from diptych.ingest.describe import FileStream
from diptych.ingest.plan import Plan
from diptych.ingest.row_cache import library_versions, rows_folder, trim
from diptych.ingest.work_folder import WorkFolder, features_code, read_shard, shard_path
from diptych.ingest.workers import Setting, Task, run_tasks
from diptych.media import Place, hash_places

_MOST_FITTED = 20
_SHARD_FILES, _SHARD_TEXTS = 64, 1024


def fit_features(plan: Plan, folder: Path, progress: Progress) -> Pipeline:
    """Fit the features of all modalities that some item has, and keep them in a folder.

    What is there is not fitted again.

    One thread does the sums, so that the result is the same on machines with any number of cores.
    """
    if folder.exists():
        return load_pipeline(folder)
    there = {kind: bool(files.places) for kind, files in plan.files.items()} | {"text": bool(plan.texts)}
    features = {name: (name, written) for name, written in plan.options.features.items() if there.get(name)}
    if not features:
        raise DataError(f"{plan.options.pairs} gives neither a media file nor a text to make features of.")
    if "train" not in plan.splits:
        raise DataError(f"{plan.options.pairs} has no training item to learn features from; see --split-shares.")
    parts = {name: _fitted(plan, name, written, progress) for name, (_, written) in features.items()}
    pipeline = Pipeline(parts)
    save_pipeline(pipeline, folder)
    return pipeline


def _fitted(plan: Plan, media_type: str, written: str, progress: Progress) -> FittedModality:
    """Fit one modality's features; what was learned of the same files before is taken from the cache."""
    is_learned = media_type != "text" and learns(make_feature(media_type, written))
    kept = fitted_folder(plan, media_type, written) if is_learned else None
    if kept is not None and kept.exists():
        with suppress(DataError):
            return load_pipeline(kept).of(media_type)
    items: Iterable[Any] = _training_texts(plan) if media_type == "text" else _training_files(plan, media_type)
    with threadpool_limits(1):
        fitted = fit_pipeline(
            {media_type: (media_type, written)}, {media_type: items}, seed=plan.options.seed, progress=progress
        )
    if kept is not None:
        with suppress(OSError, DataError):
            save_pipeline(fitted, kept, overwrite=True)
            _trim(kept.parent)
    return fitted.of(media_type)


def fitted_folder(plan: Plan, kind: str, written: str) -> Path | None:
    """Where features that were learned from these very files are kept; None where nothing is kept."""
    root = rows_folder() if plan.options.reuse else None
    if root is None:
        return None
    options = plan.options
    read = [str(plan.source_path), plan.source_stamp, hash_places(training_places(plan, kind))]
    limits = [kind, options.max_pixels, options.max_bytes, options.max_seconds]
    decided = [written, read, options.seed, limits, library_versions(), features_code()]
    return root.parent / "features" / hash_records(decided)


def _trim(folder: Path) -> None:
    """Keep the most recent entries."""
    entries = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[_MOST_FITTED:]:
        shutil.rmtree(path, ignore_errors=True)


def find_pipeline(folder: Path) -> Path:
    """The pipeline's folder in a dataset, in a model, or itself."""
    for candidate in (folder, folder / "pipeline"):
        if (candidate / "pipeline.json").is_file():
            return candidate
    raise DataError(f"{folder} holds no pipeline; give a dataset that was ingested, or a model fitted on one.")


def _training_texts(plan: Plan) -> list[str]:
    pairs = zip(plan.items, plan.splits, strict=True)
    return [item.texts[0] for item, split in pairs if split == "train" and item.texts]


def _training_files(plan: Plan, kind: str) -> Iterable[Any]:
    return FileStream(kind, plan.source_path, plan.source_kind, training_places(plan, kind), plan.options.limits)


def training_places(plan: Plan, kind: str = "image") -> Sequence[Place]:
    """The training files of a kind that features learn from: all, or a sample of the number asked for."""
    files = plan.files[kind]
    is_training = np.array([split == "train" for split in plan.splits])
    elsewhere = np.unique(files.of_item[~is_training])
    numbers = np.setdiff1d(files.of_item[is_training & (files.of_item >= 0)], elsewhere)
    most = plan.options.fit_images
    if len(numbers) > most:
        numbers = np.sort(generator(plan.options.seed, "ingest", "fit").choice(numbers, most, replace=False))
    return [files.places[number] for number in numbers]


@dataclass(frozen=True)
class Units:
    """What one modality's rows are made of.

    Attributes:
        modality: its name.
        media_type: "text", or a kind of media.
        units: places of files, or texts.
        unit_of_item: for each item the number of its unit, -1 for none.
    """

    modality: str
    media_type: str
    units: Sequence[Any]
    unit_of_item: Integers

    def tasks(self) -> Iterator[Task]:
        """The units cut into shards, the same ones whoever makes them."""
        size = _SHARD_TEXTS if self.media_type == "text" else _SHARD_FILES
        for number, start in enumerate(range(0, len(self.units), size)):
            yield Task(self.modality, number, self.units[start : start + size])


def units_of(plan: Plan, pipeline: Pipeline) -> list[Units]:
    """The units of every modality that some item has."""
    has_text = np.array([bool(item.texts) for item in plan.items])
    there: dict[str, tuple[Sequence[Any], Integers]] = {
        "text": (plan.texts, np.where(has_text, np.cumsum(has_text) - 1, -1)),
        **{kind: (files.places, files.of_item) for kind, files in plan.files.items()},
    }
    parts = [(name, part.media_type) for name, part in pipeline.modalities.items() if part.media_type in there]
    found = [Units(name, media_type, *there[media_type]) for name, media_type in parts]
    return [units for units in found if len(units.units)]


def extract(
    plan: Plan, everything: Sequence[Units], work: WorkFolder, executor: Executor | None, progress: Progress
) -> dict[str, int]:
    """Make the shards that are not there yet, of one modality after the other.

    Returns:
        By modality, how many of their units an earlier ingest had described already.
    """
    reused = {units.modality: 0 for units in everything}
    options = plan.options
    waiting: list[Task] = []
    pace = {units.modality: _Rate(f"{units.modality} features", len(units.units), progress) for units in everything}
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
        options.limits,
        rows_folder() if options.reuse else None,
    )
    if not waiting:
        return reused
    pace[waiting[0].modality].start(time.perf_counter())
    last = time.perf_counter()
    for task, known in run_tasks(waiting, setting, executor):
        _check_broken(plan, task, work)
        reused[task.modality] += known
        pace[task.modality].start(last)
        last = time.perf_counter()
        pace[task.modality].advance(len(task.units))
    trim(setting.cache)
    return reused


class _Rate:
    """Progress of one modality and its rate since this call began."""

    def __init__(self, stage: str, total: int, progress: Progress) -> None:
        self._stage, self._total, self._progress = stage, total, progress
        self._started, self._fresh = 0.0, 0
        self.done = 0

    def start(self, at: float) -> None:
        """Start the clock, once."""
        if not self._started:
            self._started = at
            self._progress(self._stage, self.done, self._total)

    def advance(self, count: int) -> None:
        """Count further units as done."""
        self.done += count
        self._fresh += count
        rate = self._fresh / max(time.perf_counter() - self._started, 1e-6)
        self._progress(self._stage, self.done, self._total, {"per second": rate})


def _check_broken(plan: Plan, task: Task, work: WorkFolder) -> None:
    """Raise for a broken item if the user asked for that."""
    if plan.options.on_broken != "fatal":
        return
    shard = read_shard(shard_path(work.shards, task.modality, task.number))
    for unit, reason in zip(task.units, shard.reasons, strict=True):
        if reason:
            raise DataError(f"{getattr(unit, 'name', 'a text')}: {reason}; mend it, or pass --on-broken skip.")
