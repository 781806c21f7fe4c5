"""The derived files: one folder per state, written whole, checked when opened, thrown away when in doubt.

derived/<name>/manifest.json     what it reflects, and size and checksum of every file
derived/<name>/<n>/vectors.f32   the vectors of the n-th modality; left out if only their codes are kept
                   codes.u8      their binary codes, in an index that has some
                   projection.f32     how vectors become codes; left out if the database says it
                   rows.i64      their row numbers in SQLite
                   ids.s<width>  their ids; ids.txt and offsets.i64 if some are long
                   dead.u8       which were removed; left out if none were
                   neighbours.faiss   left out while vectors are compared one by one

They are written from a view: a graph takes up recent vectors, or is built anew when it has aged. `CurrentView` keeps
the view up to date with SQLite and with the derived files in force.
"""

import json
import logging
import os
import shutil
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import BackendUnavailableError, DataError
from diptych._core.files import atomic_folder, read_json, write_json
from diptych._core.locks import file_lock
from diptych.index.local.binary import (
    CODES_FILE,
    HammingCodes,
    VectorForm,
    as_singles,
    read_projection,
    write_code_files,
)
from diptych.index.local.connections import Connections, Reader
from diptych.index.local.database import State, read_state
from diptych.index.local.graph import FILE as GRAPH_FILE
from diptych.index.local.graph import Graph, Settings, build_graph, extend_graph
from diptych.index.local.segments import Segment, checksum, map_ids, map_numbers, write_ids, write_numbers
from diptych.index.local.view import View, replayed

FOLDER = "derived"
LOCK = "derived.lock"
"""Held by the process that writes or copies derived files."""
FORMAT = 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """What the manifest says of one modality: its name, how many vectors, how many its rounding was learned from."""

    modality: str
    count: int
    trained_on: int


def write_manifest(folder: Path, view: View, parts: list[Part]) -> None:
    """Seal a folder of derived files."""
    names = sorted(path for path in folder.rglob("*") if path.is_file())
    body = {
        "format": FORMAT,
        "change": view.change,
        "next_row": view.next_row,
        "parts": [asdict(part) for part in parts],
        "files": {path.relative_to(folder).as_posix(): [path.stat().st_size, checksum(path)] for path in names},
    }
    write_json(folder / "manifest.json", {"body": body, "checksum": _seal(body)})


def locked_too_long(wait_s: float) -> BackendUnavailableError:
    """Return the error for a lock that another process did not release in time."""
    return BackendUnavailableError(
        f"another process has been writing the index's derived files for more than {wait_s:g} s; try again later."
    )


def read_derived(folder: Path, form: VectorForm, settings: Settings) -> View | None:
    """The view that was written, or None if anything about it is not as it was written."""
    try:
        body = _checked(folder)
        parts = [Part(**part) for part in body["parts"]]
        partitions: dict[str, tuple[Segment, ...]] = {
            part.modality: (_segment(folder / str(number), part, form, settings),) for number, part in enumerate(parts)
        }
        return View(body["change"], body["next_row"], folder.name, False, partitions)
    except (DataError, OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        _log.warning("The derived files in %s cannot be used and will be made again: %s", folder, error)
        return None


def _checked(folder: Path) -> dict[str, Any]:
    manifest = read_json(folder / "manifest.json")
    body: dict[str, Any] = manifest["body"]
    if body["format"] != FORMAT or _seal(body) != manifest["checksum"]:
        raise ValueError("the manifest is damaged or of another version")
    for name, (size, sum_) in body["files"].items():
        path = folder / name
        if path.stat().st_size != size or checksum(path) != sum_:
            raise ValueError(f"{name} is damaged")
    return body


def _seal(body: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(body, sort_keys=True).encode())


def _segment(folder: Path, part: Part, form: VectorForm, settings: Settings) -> Segment:
    dead, neighbours = folder / "dead.u8", folder / GRAPH_FILE
    graph: Graph | HammingCodes | None = None
    if neighbours.exists():
        graph = Graph(neighbours, part.count, part.trained_on, settings)
    elif settings.wants_codes(part.count) and (folder / CODES_FILE).exists():
        codes = map_numbers(folder / CODES_FILE, "|u1", (part.count, settings.bits // 8))
        graph = HammingCodes(codes, form.how or read_projection(folder, form, settings), part.trained_on, settings)
    return Segment(
        vectors=form.unpack(map_numbers(folder / form.file, form.dtype, (part.count, form.columns))),
        rows=map_numbers(folder / "rows.i64", "<i8", (part.count,)),
        ids=map_ids(folder, part.count),
        dead=map_numbers(dead, "|u1", (part.count,)).astype(np.bool_) if dead.exists() else None,
        graph=graph,
        folded=True,
    )


_MOST_DEAD = 0.2
"""A graph in which more than this share is dead wastes its steps on them and is built anew."""
_MOST_GROWTH = 2
"""The rounding is learned from the vectors of the time; beyond so many times as many, it is learned anew."""
_AT_ONCE = 65_536


def write_folded(folder: Path, view: View, form: VectorForm, settings: Settings) -> None:
    """Write all of a view's vectors into a folder of derived files."""
    parts = []
    for number, (modality, segments) in enumerate(sorted(view.partitions.items())):
        target = folder / str(number)
        target.mkdir()
        parts.append(_write_part(target, modality, segments, form, settings))
    write_manifest(folder, view, parts)


def _write_part(
    folder: Path, modality: str, segments: tuple[Segment, ...], form: VectorForm, settings: Settings
) -> Part:
    living = sum(segment.living for segment in segments)
    first, recent = segments[0], segments[1:]
    wants_graph = settings.wants_graph(living)
    if wants_graph and isinstance(first.graph, Graph) and _may_grow(first, first.graph, living):
        # Positions in a graph cannot be given back, so the dead keep theirs and are marked.
        extend_graph(first.graph, _living_blocks(recent), folder / GRAPH_FILE)
        if first.dead is not None:
            alive = np.zeros(sum(segment.living for segment in recent), np.bool_)
            write_numbers(folder / "dead.u8", [np.concatenate([first.dead, alive])], "|u1")
        whole = Segment(first.vectors, first.rows, first.ids)
        return _write_columns(folder, modality, (whole, *recent), form, first.graph.trained_on)
    part = _write_columns(folder, modality, segments, form, living)
    if wants_graph:
        vectors = np.memmap(folder / "vectors.f32", "<f4", "r", shape=(living, form.dimension))
        build_graph(_blocks(vectors), vectors, folder / GRAPH_FILE, settings)
    elif form.keep_float and settings.wants_codes(living):
        written = map_numbers(folder / form.file, form.dtype, (living, form.dimension))
        known = first.graph if isinstance(first.graph, HammingCodes) else None
        kept = None if first.alive is None else first.alive.places
        return replace(part, trained_on=write_code_files(folder, written, known, kept, form, settings))
    return part


def _may_grow(segment: Segment, grown_from: Graph, living: int) -> bool:
    dead = len(segment) - segment.living
    return (
        dead <= _MOST_DEAD * len(segment)
        and living <= _MOST_GROWTH * grown_from.trained_on
        and grown_from.path.exists()
    )


def _write_columns(folder: Path, modality: str, segments: Iterable[Segment], form: VectorForm, trained_on: int) -> Part:
    columns = [segment.living_parts() for segment in segments]
    blocks = (form.pack(part[0][start : start + _AT_ONCE]) for part in columns for start in _starts(len(part[0])))
    write_numbers(folder / form.file, blocks, form.dtype)
    write_numbers(folder / "rows.i64", (part[1] for part in columns), "<i8")
    write_ids(folder, [id for part in columns for id in part[2]])
    return Part(modality, sum(len(part[1]) for part in columns), trained_on)


def _living_blocks(segments: Iterable[Segment]) -> Iterator[Singles]:
    for segment in segments:
        yield from _blocks(as_singles(segment.living_parts()[0]))


def _blocks(vectors: Singles) -> Iterator[Singles]:
    for start in _starts(len(vectors)):
        yield vectors[start : start + _AT_ONCE]


def _starts(count: int) -> range:
    return range(0, count, _AT_ONCE)


class CurrentView:
    """The view at this moment; threads may share it."""

    def __init__(self, folder: Path, connections: Connections, form: VectorForm, settings: Settings) -> None:
        self._folder, self._connections = folder, connections
        self._form, self._settings = form, settings
        self._refreshing = threading.Lock()
        self._view = View(0, 0, "", False, {})

    @property
    def last(self) -> View:
        """The view as it was last looked at."""
        return self._view

    def get(self) -> View:
        """Return the view at this moment; costs one glance if nothing has changed."""
        counter = self._connections.change_counter
        if not counter.is_known():
            seen = counter.look()
            with self.reading():
                counter.know(seen)
        return self._view

    @contextmanager
    def reading(self) -> Iterator[tuple[Reader, View]]:
        """Open a transaction and the view at the very same change, so that what both say fits together."""
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

    def fold(self, *, wait_s: float) -> View | None:
        """Fold all recent vectors into new derived files; None if another process is at it or has done it."""
        with file_lock(self._folder / LOCK, timeout_s=wait_s) as mine:
            if not mine and wait_s:
                raise locked_too_long(wait_s)
            view = self.get()
            if not mine or not (view.unfolded or view.damaged):
                return None
            name = f"{view.change:012d}-{os.urandom(6).hex()}"
            with atomic_folder(self._folder / FOLDER / name) as temporary:
                write_folded(temporary, view, self._form, self._settings)
            with self._connections.writing() as connection:
                connection.execute("UPDATE state SET derived = ?", (name,))
                connection.execute("DELETE FROM removed WHERE change <= ?", (view.change,))
            for old in (self._folder / FOLDER).iterdir():
                if old.name != name:
                    shutil.rmtree(old, ignore_errors=True)
            # Folding is no change of the items, so the change counter does not tell of it.
            self._connections.change_counter.forget()
            return self.get()

    def close(self) -> None:
        """Give back what is mapped."""
        self._view = View(0, 0, "", False, {})

    def _refreshed(self, reader: Reader) -> View:
        state, view = read_state(reader.connection), self._view
        if state.derived != view.derived:
            read = read_derived(self._folder / FOLDER / state.derived, self._form, self._settings)
            if read is None and self._moved_on(reader, state):
                return self._refreshed(reader)
            state = read_state(reader.connection)
            view = View(0, 0, state.derived, True, {}) if read is None else read
        if state.change == view.change:
            return view
        return replayed(reader.connection, view, state, self._form)

    def _moved_on(self, reader: Reader, state: State) -> bool:
        """Whether the derived files are gone because newer ones are in force; the transaction is then at those."""
        reader.connection.execute("COMMIT")
        reader.connection.execute("BEGIN")
        return read_state(reader.connection).derived != state.derived
