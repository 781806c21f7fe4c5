"""The local engine: searches a view, keeps it up to date with SQLite, and folds it into derived files."""

import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from diptych._core.arrays import Singles
from diptych._core.errors import DataError, DiptychError
from diptych.index.contract import Index
from diptych.index.filters import Condition
from diptych.index.identity import Identity
from diptych.index.items import Batch, Hits, Item, Metadata
from diptych.index.local import database, integrity
from diptych.index.local.connections import Connections, explaining, missing_changes
from diptych.index.local.derived import CurrentView
from diptych.index.local.graph import Settings
from diptych.index.local.neighbours import Ranked, is_worth_it, nearest, overfetched
from diptych.index.local.postings import Vocabulary
from diptych.index.local.rows import count_of, ids_of, insert, items_of, metadata_of, remove
from diptych.index.local.view import View
from diptych.index.local.words import WordSearch, known_postings, read_postings
from diptych.index.terms import WordStatistics

_log = logging.getLogger(__name__)


class LocalIndex(Index):
    """An index in a folder; threads may share it, and other processes may open it, too.

    One of an earlier format is upgraded when it is opened, unless it is only read.

    Args:
        folder: where it is.
        read_only: refuse changes, and write nothing.
        wait_s: how long a change waits for others that write.
        fold_wait_s: how long `optimise` and `snapshot` wait for another process that folds.
        time_limit_s: how long a query with a condition may take before it is cancelled; None for no limit.
        auto_fold: fold recent vectors into the neighbour structure whenever they have become many; without it, only
            `optimise` does, which is quicker when very many are added.
        verify: whether to read everything and compare it with its checksums first. None does so for an index that is
            small, or that is not large and has changed since it was last compared. Otherwise the checksum of a row is
            compared when it is first used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        read_only: bool = False,
        wait_s: float = 5.0,
        fold_wait_s: float = 60.0,
        time_limit_s: float | None = 30.0,
        auto_fold: bool = True,
        verify: bool | None = None,
    ) -> None:
        if not (folder / database.FILE).is_file():
            raise DataError(f"{folder} is no index; run `diptych index MODEL DATASET --out INDEX` to make one.")
        self._folder, self._fold_wait_s, self._time_limit_s = folder, fold_wait_s, time_limit_s
        self._may_fold = auto_fold and not read_only
        self._connections = Connections(folder, read_only=read_only, wait_s=wait_s)
        self._vocabulary = Vocabulary()
        self._notes = not read_only
        try:
            self._open(read_only, integrity.is_due(folder) if verify is None else verify)
        except BaseException:
            self._connections.close()
            raise

    @explaining
    def _open(self, read_only: bool, verify: bool) -> None:
        connection = self._connections.reader().connection
        self._identity, self._settings, form = database.read_head(connection, self._folder)
        if form != database.FORMAT and not read_only:
            if verify:
                integrity.require_intact(self._folder)
            with self._connections.writer() as writer:
                database.upgrade(writer, self._folder)
            self._connections.renew_reader()
        if verify:
            integrity.require_intact(self._folder)
        self._checks = None if verify or integrity.is_noted(self._folder) else integrity.LazyChecks()
        self._form = database.read_form(self._connections.reader().connection, self._identity, self._settings)
        self._view = CurrentView(self._folder, self._connections, self._form, self._settings)
        acknowledged = self._connections.change_counter.look()
        view = self._view.get()
        for missing in missing_changes(acknowledged, view.change):
            _log.warning("%s: %s.", self._folder, missing)
        integrity.require_same_items(self._connections.reader().connection, view)
        self._changed = view.unfolded
        if not read_only and (view.damaged or (self._may_fold and view.should_fold(self._settings))):
            self._try_to_fold()

    @property
    def identity(self) -> Identity:
        """What made the vectors, how long they are, how they are compared."""
        return self._identity

    @property
    def has_words(self) -> bool:
        """Whether items can be found by words."""
        return self._settings.words

    @property
    def settings(self) -> Settings:
        """How vectors are searched."""
        return self._settings

    @explaining
    def optimise(self) -> None:
        """Fold all recent vectors into the neighbour structure."""
        view = self._view.get()
        if view.unfolded or view.damaged:
            self._fold(wait_s=self._fold_wait_s)

    @explaining
    def snapshot(self, target: Path | str) -> Path:
        """Write a consistent copy that can be opened as an index of its own."""
        connection = self._connections.reader().connection
        return integrity.write_snapshot(self._folder, connection, Path(target), wait_s=self._fold_wait_s)

    @explaining
    def backup(self, target: Path | str) -> Path:
        """Write everything into one file, as it is at one moment, while others read and write."""
        return integrity.write_backup(self._connections.reader().connection, Path(target))

    @explaining
    def verify(self) -> list[str]:
        """Read everything and compare it with its checksums; returns what is wrong."""
        acknowledged = self._connections.change_counter.look()
        with self._view.reading() as (_, view):
            missing = missing_changes(acknowledged, view.change)
        return missing + integrity.problems_of(self._folder)

    @explaining
    def check_available(self) -> None:
        """Raise an error that says why, if the index cannot be searched now."""
        database.read_state(self._connections.reader().connection)

    def close(self) -> None:
        """Give back files and connections."""
        self._connections.close()
        self._view.close()
        if self._notes and self._checks is None:
            integrity.note_intact(self._folder)
        self._notes = False

    @explaining
    def _add(self, batch: Batch) -> int:
        with self._connections.writing() as connection:
            done = insert(connection, batch, self._form, replace=False, words=self.has_words)
        return self._acknowledged(done)

    @explaining
    def _update(self, batch: Batch) -> int:
        with self._connections.writing() as connection:
            done = insert(connection, batch, self._form, replace=True, words=self.has_words)
        return self._acknowledged(done)

    @explaining
    def _delete(self, ids: list[str]) -> int:
        with self._connections.writing() as connection:
            done = remove(connection, ids, words=self.has_words)
        return self._acknowledged(done)

    @explaining
    def _get(self, ids: list[str]) -> dict[str, Item]:
        return items_of(self._connections.reader().connection, ids, self._form)

    @explaining
    def _count(self, condition: Condition | None) -> int:
        with self._connections.reader().limited(self._time_limit_s if condition else None) as connection:
            return count_of(connection, condition)

    @explaining
    def _list_ids(self, condition: Condition | None, limit: int) -> list[str]:
        with self._connections.reader().limited(self._time_limit_s if condition else None) as connection:
            return ids_of(connection, condition, limit)

    @explaining
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
            view = self._view.get()
            hits = nearest(view.segments(modality), None, queries, k, offset, exact)
            if not with_metadata:
                return _as_hits(hits, None)
            known = self._metadata(self._connections.reader().connection, hits, view)
            if known is not None:
                return _as_hits(hits, known)
        with self._view.reading() as (reader, view), reader.limited(self._time_limit_s if condition else None):
            segments = view.segments(modality)
            found = None
            if condition is not None and not view.remembers(condition) and is_worth_it(segments, queries, k + offset):
                found = overfetched(reader.connection, condition, segments, queries, k, offset, exact)
            if found is None:
                choices = None if condition is None else view.choices(reader.connection, condition, segments)
                found = nearest(segments, choices, queries, k, offset, exact)
            return _as_hits(found, self._metadata(reader.connection, found, view) if with_metadata else None)

    @explaining
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
            view = self._view.get()
            read = known_postings(view, queries)
            if read is not None:
                search = WordSearch(view, read, modality)
                hits = [search.hits(None, terms, None, k, offset) for terms in queries]
                if not with_metadata:
                    return _as_hits(hits, None)
                known = self._metadata(self._connections.reader().connection, hits, view)
                if known is not None:
                    return _as_hits(hits, known)
        with self._view.reading() as (reader, view), reader.limited(self._time_limit_s):
            search = WordSearch(view, read_postings(reader.connection, view, queries), modality)
            hits = [search.hits(reader.connection, terms, condition, k, offset) for terms in queries]
            return _as_hits(hits, self._metadata(reader.connection, hits, view) if with_metadata else None)

    @explaining
    def _complete(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        return self._vocabulary.complete(self._connections.reader().connection, beginning, limit)

    @explaining
    def _correct(self, written: str, edits: int, limit: int) -> list[tuple[str, int]]:
        return self._vocabulary.correct(self._connections.reader().connection, written, edits, limit)

    @explaining
    def _word_statistics(self, terms: Sequence[str]) -> WordStatistics:
        return self._vocabulary.statistics(self._connections.reader().connection, terms)

    def _metadata(self, connection: sqlite3.Connection, hits: list[Ranked], view: View) -> dict[int, Metadata] | None:
        """What is known of all hits; None if the database has left the view behind."""
        rows = {row for hit in hits for row in hit.rows.tolist()}
        known = view.metadata.of(rows)
        missing = list(rows.difference(known))
        if missing:
            if self._checks is not None:
                self._checks.require(connection, missing)
            read = metadata_of(connection, missing, view.change)
            if read is None:
                return None
            view.metadata.keep(*read)
            known.update(read[0])
        return known

    def _acknowledged(self, done: int) -> int:
        self._changed += done
        if self._may_fold and self._settings.too_many_recent(self._changed, self._view.last.folded):
            self._try_to_fold()
        return done

    def _try_to_fold(self) -> None:
        """Fold; a failure to do so is no failure of a change, which is safe, nor of opening."""
        try:
            self._fold(wait_s=0)
        except (OSError, RuntimeError, sqlite3.Error, DiptychError) as error:
            _log.warning("The derived files could not be written; searches stay right but slow: %s", error)

    def _fold(self, *, wait_s: float) -> None:
        folded = self._view.fold(wait_s=wait_s)
        if folded is not None:
            self._changed = folded.unfolded


def _as_hits(hits: list[Ranked], known: dict[int, Metadata] | None) -> list[Hits]:
    if known is None:
        return [Hits(tuple(hit.ids), hit.scores, hit.modalities) for hit in hits]
    return [
        Hits(tuple(hit.ids), hit.scores, hit.modalities, tuple(known[row] for row in hit.rows.tolist())) for hit in hits
    ]
