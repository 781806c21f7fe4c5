"""Describe everything in parallel processes, shard by shard."""

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diptych._core.errors import DataError
from diptych._core.processes import end_pool, interrupts_held_back, roomy_allocator, settle_worker
from diptych.features import load_pipeline
from diptych.ingest.describe import Broken, ImageReader, describe
from diptych.ingest.row_cache import CachedExtractor, Keyed, content_key
from diptych.ingest.work_folder import shard_path, write_shard
from diptych.media import reopen_source

_AHEAD = 2
"""Tasks that wait for each worker, so that none is idle and few are in memory."""


@dataclass(frozen=True)
class Setting:
    """What every worker needs to know.

    Attributes:
        pipeline: the folder of the fitted pipeline.
        shards: the folder to write to.
        source: where the images are.
        source_kind: what that is.
        max_pixels: of one image.
        max_bytes: of one image's file.
        cache: the folder of rows that were extracted before; None to extract all.
    """

    pipeline: Path
    shards: Path
    source: Path
    source_kind: str
    max_pixels: int
    max_bytes: int
    cache: Path | None = None


@dataclass(frozen=True)
class Task:
    """One shard to make: its modality, its number, and places of images or texts."""

    modality: str
    number: int
    units: Sequence[Any]


class Worker:
    """Makes shards, one after the other."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._pipeline = load_pipeline(setting.pipeline)
        self._source = reopen_source(setting.source, setting.source_kind)
        self._images = ImageReader(self._source, setting.max_pixels, setting.max_bytes)
        self._extractors: dict[str, CachedExtractor] = {}

    def __call__(self, task: Task) -> int:
        """Make a shard and write it; returns how many of its units were known already."""
        extractor = self._extractor(task.modality)
        is_image = self._pipeline.of(task.modality).media_type == "image"
        known = 0

        def keyed(unit: Any) -> Keyed | Broken:  # noqa: ANN401 - a place or a text
            nonlocal known
            if is_image:
                item = self._images.read_keyed(unit, extractor)
            else:
                item = extractor.keyed(_text_key(unit), lambda: unit)
            known += isinstance(item, Keyed) and item.value is None
            return item

        with threadpool_limits(1):
            shard = describe(extractor.extractor, task.units, keyed)
        write_shard(shard_path(self._setting.shards, task.modality, task.number), shard)
        return known

    def is_quick(self, task: Task) -> bool:
        """Whether a shard takes less time than starting a process: all is known, or words are merely counted."""
        extractor = self._extractor(task.modality)
        if self._pipeline.of(task.modality).media_type != "image":
            return not extractor.keeps or all(extractor.knows(_text_key(text)) for text in task.units)
        return extractor.keeps and all(self._images.is_known(place, extractor) for place in task.units)

    def close(self) -> None:
        """Close the images' source and the caches."""
        self._source.close()
        for extractor in self._extractors.values():
            extractor.close()

    def _extractor(self, modality: str) -> CachedExtractor:
        if modality not in self._extractors:
            self._extractors[modality] = CachedExtractor(self._pipeline.of(modality), self._setting.cache)
        return self._extractors[modality]


def _text_key(text: str) -> bytes:
    return content_key(text.encode("utf-8", "surrogatepass"))


def run_tasks(tasks: Iterable[Task], setting: Setting, workers: int) -> Iterator[tuple[Task, int]]:
    """Make all shards; each is told when it is done, in whatever order, with how many of its units were known already.

    Args:
        tasks: what to make.
        setting: what every worker needs to know.
        workers: how many processes; 0 to work in this one.
    """
    if workers == 0:
        with closing(Worker(setting)) as worker:
            for task in tasks:
                yield task, worker(task)
        return
    slow: list[Task] = []
    with closing(Worker(setting)) as here:
        for task in tasks:
            if here.is_quick(task):
                yield task, here(task)
            else:
                slow.append(task)
    if slow:
        yield from _in_processes(slow, setting, min(workers, len(slow)))


def _in_processes(tasks: Sequence[Task], setting: Setting, workers: int) -> Iterator[tuple[Task, int]]:
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start, (setting,))
    finished = False
    try:
        with roomy_allocator():  # the pool starts its processes as tasks come in
            yield from _in_pool(pool, iter(tasks), workers * _AHEAD)
        finished = True
    except BrokenProcessPool:
        raise DataError(
            "a worker process died, perhaps for want of memory; the same command goes on from here, "
            "with fewer --workers if need be."
        ) from None
    finally:
        end_pool(pool, at_once=not finished)


def _in_pool(pool: ProcessPoolExecutor, tasks: Iterator[Task], most: int) -> Iterator[tuple[Task, int]]:
    running: dict[Future[int], Task] = {}
    while True:
        while len(running) < most and (task := next(tasks, None)) is not None:
            with interrupts_held_back():
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
    Finalize(None, _worker.close, exitpriority=1)


def _work(task: Task) -> int:
    if _worker is None:
        raise RuntimeError("the worker was not started")
    return _worker(task)
