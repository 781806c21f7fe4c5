"""Keep an index that is being served in step with its source."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path

from diptych._core.errors import DiptychError
from diptych.ingest import Problem
from diptych.up.changes import Changes, changes_since, reason_to_fit_again
from diptych.up.folder import SearchFolder
from diptych.up.manifest import Manifest
from diptych.up.source import Source
from diptych.up.syncing import IndexWriter, sync
from diptych.up.watching import Watched, wait_for_change

_MANY_GONE = 0.5
"""A source that has lost more than this share of its items at once is read again before they are removed."""
_SECOND_LOOK_S = 5.0


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
        """Follow a source from the state that was read last, which the index may not yet hold."""
        with Manifest(self.folder.manifest) as manifest:
            watched = Watched.of(source, self.folder.path)
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
                        self._tell_once(f"the changes could not be written ({error}); they are tried again.")
                        stamp = ""
                watched = Watched.of(source, self.folder.path)

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
            self._tell_once(f"the model should be fitted again, for {reason.split(' since ')[0]}; restart to do so.")

    def _problem(self, problem: Problem) -> None:
        self._tell_once(str(problem))

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self.tell(sentence)
