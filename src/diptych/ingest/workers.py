"""Describe everything in parallel, shard by shard: in this process, in others, or on a cluster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from diptych._core.cluster import folder_content, write_content
from diptych._core.errors import DiptychError
from diptych._core.processes import Executor
from diptych._core.state import versions
from diptych.features import Pipeline, check_available, load_pipeline
from diptych.ingest.describe import Broken, FileReader, describe
from diptych.ingest.row_cache import CachedExtractor, Keyed, content_key, library_versions
from diptych.ingest.work_folder import Shard, shard_path, write_shard
from diptych.media import MediaLimits, MediaSource, Place, media_kind, reopen_source


@dataclass(frozen=True)
class Setting:
    """What every worker needs to know.

    Attributes:
        pipeline: the folder of the fitted pipeline.
        shards: the folder to write to.
        source: where the files are.
        source_kind: what that is.
        limits: to one file.
        cache: the folder of rows that were extracted before; None to extract all.
    """

    pipeline: Path
    shards: Path
    source: Path
    source_kind: str
    limits: MediaLimits
    cache: Path | None = None


@dataclass(frozen=True)
class Task:
    """One shard to make: its modality, its number, and places of files or texts."""

    modality: str
    number: int
    units: Sequence[Any]


class ShardMaker:
    """Makes shards, one after the other.

    Args:
        pipeline: the fitted features.
        cache: the folder of rows that were extracted before; None to extract all.
    """

    def __init__(self, pipeline: Pipeline, cache: Path | None) -> None:
        self._pipeline, self._cache = pipeline, cache
        self._extractors: dict[str, CachedExtractor] = {}

    def make(self, task: Task, source: MediaSource, limits: MediaLimits) -> tuple[Shard, int]:
        """Make a shard of files in a source, or of texts; returns it, and how many of its units were known already."""
        extractor = self._extractor(task.modality)
        files = self._files(task, source, limits)
        known = 0

        def keyed(unit: Any) -> Keyed | Broken:  # noqa: ANN401 - a place or a text
            nonlocal known
            if files is None:
                item: Keyed | Broken = extractor.keyed(_text_key(unit), lambda: unit)
            else:
                item = files.read_keyed(unit, extractor)
            known += isinstance(item, Keyed) and item.value is None
            return item

        with threadpool_limits(1):
            return describe(extractor.extractor, task.units, keyed), known

    def is_quick(self, task: Task, source: MediaSource, limits: MediaLimits) -> bool:
        """Whether a shard takes less time than starting a process: all is known, or words are merely counted."""
        extractor = self._extractor(task.modality)
        files = self._files(task, source, limits)
        if files is None:
            return not extractor.keeps or all(extractor.knows(_text_key(text)) for text in task.units)
        return extractor.keeps and all(files.is_known(place, extractor) for place in task.units)

    def close(self) -> None:
        """Close the caches."""
        for extractor in self._extractors.values():
            extractor.close()

    def _files(self, task: Task, source: MediaSource, limits: MediaLimits) -> FileReader | None:
        """What reads the units of a task; None for texts."""
        media_type = self._pipeline.of(task.modality).media_type
        return None if media_type == "text" else FileReader(media_type, source, limits)

    def _extractor(self, modality: str) -> CachedExtractor:
        if modality not in self._extractors:
            self._extractors[modality] = CachedExtractor(self._pipeline.of(modality), self._cache)
        return self._extractors[modality]


class Worker:
    """Makes shards of files it reads itself, and writes them."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._source = reopen_source(setting.source, setting.source_kind)
        self._maker = ShardMaker(load_pipeline(setting.pipeline), setting.cache)

    def __call__(self, task: Task) -> int:
        """Make a shard and write it; returns how many of its units were known already."""
        shard, known = self._maker.make(task, self._source, self._setting.limits)
        write_shard(shard_path(self._setting.shards, task.modality, task.number), shard)
        return known

    def is_quick(self, task: Task) -> bool:
        """See `ShardMaker`."""
        return self._maker.is_quick(task, self._source, self._setting.limits)

    def close(self) -> None:
        """Close the source and the caches."""
        self._source.close()
        self._maker.close()


@dataclass(frozen=True)
class SentTask:
    """A shard to make where the files are not: the task, and the bytes of its files or why they cannot be read."""

    task: Task
    contents: Mapping[str, bytes | OSError]

    @property
    def nbytes(self) -> int:
        """The size of the files."""
        return sum(len(data) for data in self.contents.values() if isinstance(data, bytes))


class _SentSource(MediaSource):
    """The files that came with a task."""

    path, kind = Path(), "sent"

    def __init__(self, contents: Mapping[str, bytes | OSError]) -> None:
        self._contents = contents

    def read(self, place: Place) -> bytes:
        content = self._contents[place.name]
        if isinstance(content, OSError):
            raise content
        return content

    def peek(self, place: Place, count: int) -> bytes:
        return self.read(place)[:count]

    def names(self) -> list[str]:
        return sorted(self._contents)

    def locate(self, name: str) -> Place:
        return Place(name, len(self.read(Place(name, 0))))


class RemoteWorker:
    """Makes shards of what is sent to it.

    Args:
        pipeline: the files of the fitted pipeline by name.
        limits: to one file.
    """

    def __init__(self, pipeline: Mapping[str, bytes], limits: MediaLimits) -> None:
        self._limits = limits
        with TemporaryDirectory() as folder:
            write_content(pipeline, Path(folder))
            opened = load_pipeline(folder)
        check_usable(opened)
        self._maker = ShardMaker(opened, None)

    def __call__(self, sent: SentTask) -> tuple[Shard, int]:
        """Make a shard; returns it, and how many of its units were known already."""
        return self._maker.make(sent.task, _SentSource(sent.contents), self._limits)

    def close(self) -> None:
        """Nothing is open."""


def check_usable(pipeline: Pipeline) -> None:
    """Refuse features whose packages or files are missing here: every item would count as broken for it.

    Raises:
        DiptychError: naming what is missing.
    """
    for part in pipeline.modalities.values():
        check_available(part.media_type, part.features)
        try:
            text = part.media_type == "text"
            part.extractor(["a text" if text else media_kind(part.media_type).load().blank()])
        except DiptychError:
            raise
        except Exception:
            continue


def same_libraries() -> dict[str, str]:
    """The versions that must be the same wherever rows are made, by name."""
    return versions() | dict(written.split() for written in library_versions())


def _text_key(text: str) -> bytes:
    return content_key(text.encode("utf-8", "surrogatepass"))


def run_tasks(tasks: Iterable[Task], setting: Setting, executor: Executor | None) -> Iterator[tuple[Task, int]]:
    """Make all shards; each is told when it is done, in whatever order, with how many of its units were known already.

    Args:
        tasks: what to make.
        setting: what every worker needs to know.
        executor: where to work; None to work in this process.
    """
    if executor is None:
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
    if slow and executor.shares_files:
        yield from executor.run(partial(Worker, setting), slow)
    elif slow:
        yield from _sent_away(slow, setting, executor)


def _sent_away(tasks: Sequence[Task], setting: Setting, executor: Executor) -> Iterator[tuple[Task, int]]:
    """Make shards where the files are not: files are read here and sent, and the shards are written here."""
    start = partial(RemoteWorker, folder_content(setting.pipeline), setting.limits)
    with reopen_source(setting.source, setting.source_kind) as source:
        sent = (SentTask(task, _contents(task, source, setting.limits.max_bytes)) for task in tasks)
        for done, (shard, known) in executor.run(start, sent):
            write_shard(shard_path(setting.shards, done.task.modality, done.task.number), shard)
            yield done.task, known


def _contents(task: Task, source: MediaSource, max_bytes: int) -> dict[str, bytes | OSError]:
    """The bytes of a task's files; those that are too large stay here, as nobody reads them."""
    found: dict[str, bytes | OSError] = {}
    for place in (unit for unit in task.units if isinstance(unit, Place) and unit.size <= max_bytes):
        try:
            found[place.name] = source.read(place)
        except OSError as error:
            found[place.name] = error
    return found
