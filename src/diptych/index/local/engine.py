"""The local engine: searches a view, keeps it up to date with SQLite, and folds it into derived files."""

import logging
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diptych._core.arrays import Singles
from diptych._core.errors import DataError
from diptych._core.files import atomic_folder
from diptych._core.locks import file_lock
from diptych.index.contract import Index
from diptych.index.filters import Condition
from diptych.index.identity import Identity
from diptych.index.items import Batch, Hits, Item, Metadata
from diptych.index.local import database, derived
from diptych.index.local.connections import Connections, Reader
from diptych.index.local.derived import write_folded
from diptych.index.local.graph import Settings
from diptych.index.local.neighbours import Named, Ranked, is_worth_it, nearest, overfetched
from diptych.index.local.postings import Vocabulary
from diptych.index.local.rows import count_of, ids_of, insert, items_of, metadata_of, remove
from diptych.index.local.segments import Choice
from diptych.index.local.snapshot import write_snapshot
from diptych.index.local.view import View, replayed
from diptych.index.local.words import WordSearch, known_postings, read_postings
from diptych.index.terms import WordStatistics

_QUERIES_AT_ONCE = 1_024
_log = logging.getLogger(__name__)


def create(place: Path | str, identity: Identity, **options: Any) -> "LocalIndex":  # noqa: ANN401 - see Settings
    """Make the folder of an empty index and open it; the options are those of `Settings`."""
    settings = Settings.from_options(options, engine="the local engine")
    with atomic_folder(Path(place)) as temporary:
        database.write_tables(temporary, identity, settings)
    return LocalIndex(Path(place))


def open(place: Path | str, *, read_only: bool = False, wait_s: float = 30.0, auto_fold: bool = True) -> "LocalIndex":
    """Open an index that exists.

    Args:
        place: its folder.
        read_only: refuse changes, and write nothing.
        wait_s: how long a change, `optimise` or `snapshot` waits for another process.
        auto_fold: fold recent vectors into the neighbour structure whenever they have become many; without it, only
            `optimise` does, which is quicker when very many are added.
    """
    return LocalIndex(Path(place), read_only=read_only, wait_s=wait_s, auto_fold=auto_fold)


class LocalIndex(Index):
    """An index in a folder; threads may share it, and other processes may open it, too."""

    def __init__(self, folder: Path, *, read_only: bool = False, wait_s: float = 30.0, auto_fold: bool = True) -> None:
        if not (folder / database.FILE).is_file():
            raise DataError(f"{folder} is no index; run `diptych index MODEL DATASET --out INDEX` to make one.")
        self._folder, self._wait_s = folder, wait_s
        self._may_fold = auto_fold and not read_only
        self._connections = Connections(folder, read_only=read_only, wait_s=wait_s)
        self._refreshing = threading.Lock()
        self._view = View(0, 0, "", False, {})
        self._vocabulary = Vocabulary()
        try:
            self._identity, self._settings = database.read_head(self._connections.reader().connection, folder)
            view = self._current()
            self._changed = view.unfolded
            if not read_only and (view.damaged or (self._may_fold and view.should_fold(self._settings))):
                self._fold(wait_s=0)
        except BaseException:
            self.close()
            raise

    @property
    def identity(self) -> Identity:
        """Who made the vectors, how long they are, how they are compared."""
        return self._identity

    @property
    def has_words(self) -> bool:
        """Whether entries can be found by words."""
        return self._settings.words

    @property
    def settings(self) -> Settings:
        """How vectors are searched."""
        return self._settings

    def optimise(self) -> None:
        """Fold all recent vectors into the neighbour structure."""
        view = self._current()
        if view.unfolded or view.damaged:
            self._fold(wait_s=self._wait_s)

    def snapshot(self, target: Path | str) -> Path:
        """Write a consistent copy that can be opened as an index of its own."""
        connection = self._connections.reader().connection
        return write_snapshot(self._folder, connection, Path(target), wait_s=self._wait_s)

    def close(self) -> None:
        """Give back files and connections."""
        self._connections.close()
        self._view = View(0, 0, "", False, {})

    def _add(self, batch: Batch) -> int:
        with self._connections.writing() as connection:
            done = insert(connection, batch, replace=False, words=self.has_words)
        return self._acknowledged(done)

    def _update(self, batch: Batch) -> int:
        with self._connections.writing() as connection:
            done = insert(connection, batch, replace=True, words=self.has_words)
        return self._acknowledged(done)

    def _delete(self, ids: list[str]) -> int:
        with self._connections.writing() as connection:
            done = remove(connection, ids, words=self.has_words)
        return self._acknowledged(done)

    def _get(self, ids: list[str]) -> dict[str, Item]:
        return items_of(self._connections.reader().connection, ids)

    def _count(self, condition: Condition | None) -> int:
        return count_of(self._connections.reader().connection, condition)

    def _list_ids(self, condition: Condition | None, limit: int) -> list[str]:
        return ids_of(self._connections.reader().connection, condition, limit)

    def _search(
        self,
        queries: Singles,
        k: int,
        offset: int,
        condition: Condition | None,
        modality: str | None,
        with_metadata: bool,
        exact: bool,
    ) -> list[Hits]:
        if condition is None:
            view = self._current()
            hits = _search_all(view.segments(modality), None, queries, k, offset, exact)
            if not with_metadata:
                return _as_hits(hits, None)
            known = metadata_of(self._connections.reader().connection, _rows_in(hits), view.change)
            if known is not None:
                return _as_hits(hits, known)
        with self._reading() as (reader, view):
            segments = view.segments(modality)
            found = None
            if condition is not None and not view.remembers(condition) and is_worth_it(segments, queries, k + offset):
                found = overfetched(reader.connection, condition, segments, queries, k, offset, exact)
            if found is None:
                choices = None if condition is None else view.choices(reader.connection, condition, segments)
                found = _search_all(segments, choices, queries, k, offset, exact)
            rows = _rows_in(found) if with_metadata else []
            return _as_hits(found, metadata_of(reader.connection, rows, view.change) if with_metadata else None)

    def _search_words(
        self,
        queries: list[dict[str, float]],
        k: int,
        offset: int,
        condition: Condition | None,
        modality: str | None,
        with_metadata: bool,
    ) -> list[Hits]:
        if condition is None:
            view = self._current()
            read = known_postings(view, queries)
            if read is not None:
                search = WordSearch(view, read, modality)
                hits = [search.hits(None, terms, None, k, offset) for terms in queries]
                if not with_metadata:
                    return _as_hits(hits, None)
                known = metadata_of(self._connections.reader().connection, _rows_in(hits), view.change)
                if known is not None:
                    return _as_hits(hits, known)
        with self._reading() as (reader, view):
            search = WordSearch(view, read_postings(reader.connection, view, queries), modality)
            hits = [search.hits(reader.connection, terms, condition, k, offset) for terms in queries]
            rows = _rows_in(hits) if with_metadata else []
            return _as_hits(hits, metadata_of(reader.connection, rows, view.change) if with_metadata else None)

    def _complete(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        return self._vocabulary.complete(self._connections.reader().connection, beginning, limit)

    def _correct(self, written: str, edits: int, limit: int) -> list[tuple[str, int]]:
        return self._vocabulary.correct(self._connections.reader().connection, written, edits, limit)

    def _word_statistics(self, terms: Sequence[str]) -> WordStatistics:
        return self._vocabulary.statistics(self._connections.reader().connection, terms)

    def _current(self) -> View:
        """The view at this moment; costs one glance if nothing has changed."""
        change_counter = self._connections.change_counter
        if not change_counter.is_known():
            seen = change_counter.look()
            with self._reading():
                change_counter.know(seen)
        return self._view

    @contextmanager
    def _reading(self) -> Iterator[tuple[Reader, View]]:
        """A transaction and the view at the very same change, so that what both say fits together."""
        reader = self._connections.reader()
        with self._refreshing:
            reader.connection.execute("BEGIN")
            try:
                view = self._view = self._refreshed(reader)
            except BaseException:
                reader.connection.execute("ROLLBACK")
                raise
        try:
            yield reader, view
        finally:
            reader.connection.execute("COMMIT")

    def _refreshed(self, reader: Reader) -> View:
        state, view = database.read_state(reader.connection), self._view
        if state.derived != view.derived:
            folder = self._folder / derived.FOLDER / state.derived
            read = derived.read_derived(folder, self._identity.dimension, self._settings)
            if read is None and self._moved_on(reader, state):
                return self._refreshed(reader)
            state = database.read_state(reader.connection)
            view = View(0, 0, state.derived, True, {}) if read is None else read
        if state.change == view.change:
            return view
        return replayed(reader.connection, view, state, self._identity.dimension)

    def _moved_on(self, reader: Reader, state: database.State) -> bool:
        """Whether the derived files are gone because newer ones are in force; the transaction is then at those."""
        reader.connection.execute("COMMIT")
        reader.connection.execute("BEGIN")
        return database.read_state(reader.connection).derived != state.derived

    def _acknowledged(self, done: int) -> int:
        """Fold, if it is time; a failure to do so is no failure of the change, which is safe."""
        self._changed += done
        if self._may_fold and self._settings.too_many_recent(self._changed, self._view.folded):
            try:
                self._fold(wait_s=0)
            except (OSError, RuntimeError, DataError) as error:
                _log.warning("The derived files could not be written; searches stay right but slow: %s", error)
        return done

    def _fold(self, *, wait_s: float) -> None:
        with file_lock(self._folder / derived.LOCK, timeout_s=wait_s) as mine:
            if not mine and wait_s:
                raise derived.locked_too_long(wait_s)
            if not mine:
                return  # another process is at it
            view = self._current()
            if not (view.unfolded or view.damaged):
                return  # another process has done it meanwhile
            name = f"{view.change:012d}-{os.urandom(6).hex()}"
            with atomic_folder(self._folder / derived.FOLDER / name) as temporary:
                write_folded(temporary, view, self._settings)
            with self._connections.writing() as connection:
                connection.execute("UPDATE state SET derived = ?", (name,))
                connection.execute("DELETE FROM removed WHERE change <= ?", (view.change,))
            for old in (self._folder / derived.FOLDER).iterdir():
                if old.name != name:
                    shutil.rmtree(old, ignore_errors=True)
            # Folding is no change of the items, so the change_counter does not tell of it.
            self._connections.change_counter.forget()
            self._changed = self._current().unfolded


def _search_all(
    segments: list[Named], choices: list[Choice] | None, queries: Singles, k: int, offset: int, exact: bool
) -> list[Ranked]:
    """Many queries in parts, so that memory does not grow with them."""
    if len(queries) <= _QUERIES_AT_ONCE:
        return nearest(segments, choices, queries, k, offset, exact)
    blocks = (queries[start : start + _QUERIES_AT_ONCE] for start in range(0, len(queries), _QUERIES_AT_ONCE))
    return [hit for block in blocks for hit in nearest(segments, choices, block, k, offset, exact)]


def _rows_in(hits: list[Ranked]) -> list[int]:
    return list({row for hit in hits for row in hit.rows.tolist()})


def _as_hits(hits: list[Ranked], known: dict[int, Metadata] | None) -> list[Hits]:
    if known is None:
        return [Hits(tuple(hit.ids), hit.scores, hit.modalities) for hit in hits]
    return [
        Hits(tuple(hit.ids), hit.scores, hit.modalities, tuple(known[row] for row in hit.rows.tolist())) for hit in hits
    ]
