"""Describe everything in parallel processes, shard by shard; shards that are there already are not made again."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diptych.errors import DataError
from diptych.features import load_pipeline
from diptych.ingest.describing import describe
from diptych.ingest.opening import reopen_pictures
from diptych.ingest.shards import shard_path, write_shard
from diptych.processes import roomy_allocator, settle_worker

_AHEAD = 2
"""Tasks that wait for each worker, so that none is idle and few are in memory."""


@dataclass(frozen=True)
class Setting:
    """What every worker needs to know.

    Attributes:
        pipeline: the folder of the fitted pipeline.
        shards: the folder to write to.
        source: where the pictures are.
        source_kind: what that is.
        max_pixels: of one picture.
        max_bytes: of one picture's file.
    """

    pipeline: Path
    shards: Path
    source: Path
    source_kind: str
    max_pixels: int
    max_bytes: int


@dataclass(frozen=True)
class Task:
    """One shard to make: its modality, its number, and places of pictures or texts."""

    modality: str
    number: int
    units: Sequence[Any]


class Worker:
    """Makes shards, one after the other."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._pipeline = load_pipeline(setting.pipeline)
        self._source = reopen_pictures(setting.source, setting.source_kind)

    def __call__(self, task: Task) -> int:
        """Make a shard and write it; returns how many units it covers."""
        part = self._pipeline.of(task.modality)
        with threadpool_limits(1):
            shard = describe(part.extractor, task.units, self._reader(part.medium))
        write_shard(shard_path(self._setting.shards, task.modality, task.number), shard)
        return len(task.units)

    def close(self) -> None:
        """Close the pictures' source."""
        self._source.close()

    def _reader(self, medium: str) -> Callable[[Any], Any]:
        if medium != "image":
            return lambda text: text
        from diptych.features.image.decoding import Limits
        from diptych.ingest.picture_reading import read_picture

        limits = Limits(self._setting.max_pixels, self._setting.max_bytes)
        return lambda place: read_picture(self._source, place, limits)


def run_tasks(tasks: Iterable[Task], setting: Setting, workers: int) -> Iterator[tuple[Task, int]]:
    """Make all shards; each is told when it is done, in whatever order.

    Args:
        tasks: what to make.
        setting: what every worker needs to know.
        workers: how many processes; 0 to work in this one.
    """
    if workers == 0:
        worker = Worker(setting)
        with ExitStack() as closing:
            closing.callback(worker.close)
            for task in tasks:
                yield task, worker(task)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start, (setting,))
    try:
        with roomy_allocator():  # the pool starts its processes as tasks come in
            yield from _in_pool(pool, iter(tasks), workers * _AHEAD)
    except BrokenProcessPool:
        raise DataError(
            "a worker process died, perhaps for want of memory; the same command goes on from here, "
            "with fewer --workers if need be."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _in_pool(pool: ProcessPoolExecutor, tasks: Iterator[Task], most: int) -> Iterator[tuple[Task, int]]:
    running: dict[Future[int], Task] = {}
    while True:
        while len(running) < most and (task := next(tasks, None)) is not None:
            running[pool.submit(_work, task)] = task
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()


_worker: Worker | None = None


def _start(setting: Setting) -> None:
    """Prepare a worker process, which ends when the process that started it does."""
    global _worker
    settle_worker()
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that are not loaded yet
    _worker = Worker(setting)


def _work(task: Task) -> int:
    if _worker is None:
        raise RuntimeError("the worker was not started")
    return _worker(task)
