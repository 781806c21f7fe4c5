"""Keep an index that is being served in step with its source: notice changes of the files, and bring them in.

The system tells of changes where it can; elsewhere the files are looked at.
"""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path

from diptych._core.errors import DiptychError
from diptych.ingest import Problem
from diptych.up.folder import Manifest, SearchFolder
from diptych.up.sync import Changes, IndexWriter, Source, changes_since, reason_to_fit_again, sync

_SETTLED_S = 0.8
"""A source that has not changed for so long is taken as written; half a file is then rare, and mended when it grows."""
_LOOK_S, _SAFETY_S = 1.0, 10.0
"""How often files are looked at where the system does not tell of changes, and where it does, for some it misses."""
_MANY_GONE = 0.5
"""A source that has lost more than this share of its items at once is read again before they are removed."""
_SECOND_LOOK_S = 5.0
_COST = 20
"""Looking takes at most one part in so many of the time, however many files there are."""


@dataclass(frozen=True)
class WatchedFiles:
    """The files that a source is read from.

    Attributes:
        root: a folder of which everything counts; None for a table or an archive.
        files: the files that count by themselves: the table, the archive, the files a table names, there or not.
        without: a folder whose files do not count.
    """

    root: Path | None
    files: frozenset[Path]
    without: Path

    @classmethod
    def of(cls, source: Source, without: Path) -> "WatchedFiles":
        """The files that a source was read from."""
        path, images = source.path.resolve(), source.root.resolve()
        if path.is_dir():
            return cls(path, frozenset() if images.is_dir() else frozenset([images]), without.resolve())
        files = {path}
        if images.is_dir():
            files |= {images / place.name for found in source.plan.files.values() for place in found.places}
            files |= {images / name for item in source.plan.items for name in item.files.values()}
        else:
            files.add(images)
        return cls(None, frozenset(files), without.resolve())

    def stamp(self) -> str:
        """A hash that changes when a file is added, removed or written."""
        digest = hashlib.blake2b(digest_size=16)
        # A file that comes into a folder changes the folder, and may be one that the table knows by its name alone.
        folders = self.folders() if self.root is None else []
        for file in sorted([*self.files, *folders, *self._below_root()]):
            try:
                facts = file.stat()
            except (OSError, ValueError):
                continue  # a name that is no file's, or a file that is not there
            digest.update(f"{file}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def folders(self) -> list[Path]:
        """The folders to watch."""
        if self.root is not None:
            return [self.root]
        return sorted({parent for parent in (file.parent for file in self.files) if parent.is_dir()})

    def _below_root(self) -> Iterator[Path]:
        if self.root is None:
            return
        for folder, folders, names in os.walk(self.root):
            here = Path(folder)
            folders[:] = [name for name in folders if not name.startswith(".") and here / name != self.without]
            for name in names:
                if not name.startswith("."):
                    yield here / name


def wait_for_change(watched: WatchedFiles, stamp: str, ending: threading.Event) -> bool:
    """Wait until a source differs from its stamp and has stopped changing; False if `ending` comes first.

    Args:
        watched: what to look at.
        stamp: of the source when it was last read.
        ending: ends the wait.
    """
    for _ in _wakes(watched, ending):
        found = watched.stamp()
        if found == stamp:
            continue
        while not ending.wait(_SETTLED_S):
            before, found = found, watched.stamp()
            if found == before:
                return True
    return False


def _wakes(watched: WatchedFiles, ending: threading.Event) -> Iterator[None]:
    """Yield at once and whenever files may have changed, until `ending`."""
    try:
        from watchfiles import watch
    except ImportError:
        yield from _polls(watched, ending, _LOOK_S)
        return
    pause = _pause(watched, _SAFETY_S)
    try:
        changes = watch(
            *watched.folders(),
            watch_filter=lambda change, name: not Path(name).is_relative_to(watched.without),
            debounce=400,
            step=100,
            stop_event=ending,
            rust_timeout=int(pause * 1000),
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=watched.root is not None,
            ignore_permission_denied=True,
        )
        yield  # what changed before the watch began is found by looking
        for _ in changes:
            yield
    except OSError:  # no more watches to be had, or a folder that is gone: looking still works
        yield from _polls(watched, ending, _LOOK_S)


def _polls(watched: WatchedFiles, ending: threading.Event, seconds: float) -> Iterator[None]:
    pause = _pause(watched, seconds)
    yield
    while not ending.wait(pause):
        yield


def _pause(watched: WatchedFiles, least: float) -> float:
    """How long to wait between two looks at the files, given how long one takes."""
    return max(least, _COST * timed(watched.stamp))


def timed(call: Callable[[], object]) -> float:
    """How many seconds a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


@dataclass
class Follower:
    """Brings changes of a source into an index until it is told to end.

    Attributes:
        folder: of the search.
        read: reads the source.
        index: what is changed.
        ending: ends the work.
        tell: told every change and every problem, in a sentence, each problem once.
    """

    folder: SearchFolder
    read: Callable[[], Source]
    index: IndexWriter
    ending: threading.Event
    tell: Callable[[str], None]
    _told: set[str] = field(default_factory=set)

    def follow(self, source: Source) -> None:
        """Follow a source from the state that was read last, which may not be in the index yet."""
        with Manifest(self.folder.manifest) as manifest:
            watched = WatchedFiles.of(source, self.folder.path)
            stamp = ""  # whatever has happened since the source was read is found by the first look
            while wait_for_change(watched, stamp, self.ending):
                stamp = watched.stamp()
                try:
                    source = self.read()
                    self._bring_in(source, manifest)
                except (DiptychError, OSError) as error:
                    self._tell_once(str(error))
                except (RuntimeError, CancelledError, TimeoutError) as error:
                    if not self.ending.is_set():
                        self._tell_once(f"the changes could not be written ({error}); trying again.")
                        stamp = ""
                watched = WatchedFiles.of(source, self.folder.path)

    def _bring_in(self, source: Source, manifest: Manifest) -> None:
        indexed = manifest.indexed()
        changes = changes_since(indexed, source.items)
        if len(changes.removed) > _MANY_GONE * len(indexed):
            # Perhaps a table that is being written anew, or a disk that is just being mounted.
            if self.ending.wait(_SECOND_LOOK_S):
                return
            source = self.read()
            changes = changes_since(indexed, source.items)
        if not changes:
            return
        sync(changes, source, self.index, manifest, problem=self._problem, stopped=self.ending.is_set)
        self._tell_changes(changes, source, manifest)

    def _tell_changes(self, changes: Changes, source: Source, manifest: Manifest) -> None:
        names = [Path(item.id).name for item in changes.written[:3]] + [Path(id).name for id in changes.removed[:3]]
        self.tell(f"{changes}: {', '.join(names[:3])}{' …' if len(names) > 3 else ''}")
        reason = reason_to_fit_again(manifest.fitted(), source.items)
        if reason is not None:
            self._tell_once(f"the model should be fitted again because {reason.split(' since ')[0]}; restart to do so.")

    def _problem(self, problem: Problem) -> None:
        self._tell_once(str(problem))

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self.tell(sentence)
