"""The derived files: one folder per state, written whole, checked when opened, thrown away when in doubt.

derived/<name>/manifest.json     what it reflects, and size and checksum of every file
derived/<name>/<n>/vectors.f32   the vectors of the n-th modality
                   rows.i64      their row numbers in SQLite
                   ids.s<width>  their ids; ids.txt and offsets.i64 if some are long
                   dead.u8       which were removed; left out if none were
                   neighbours.faiss   left out while vectors are compared one by one

They are written from a view: a graph takes up recent vectors, or is built anew when it has aged.
"""

import json
import logging
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import BackendUnavailableError, DataError
from diptych._core.files import read_json, write_json
from diptych.index.local.graph import FILE as GRAPH_FILE
from diptych.index.local.graph import Graph, Settings, build_graph, extend_graph
from diptych.index.local.segments import Segment, checksum, map_ids, map_numbers, write_ids, write_numbers
from diptych.index.local.view import View

FOLDER = "derived"
LOCK = "derived.lock"
"""Held by the process that writes or copies derived files."""
FORMAT = 1

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """What the manifest says of one modality: its name, how many vectors, how many the codes were trained on."""

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


def read_derived(folder: Path, dimension: int, settings: Settings) -> View | None:
    """The view that was written, or None if anything about it is not as it was written."""
    try:
        body = _checked(folder)
        parts = [Part(**part) for part in body["parts"]]
        partitions: dict[str, tuple[Segment, ...]] = {
            part.modality: (_segment(folder / str(number), part, dimension, settings),)
            for number, part in enumerate(parts)
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


def _segment(folder: Path, part: Part, dimension: int, settings: Settings) -> Segment:
    dead, neighbours = folder / "dead.u8", folder / GRAPH_FILE
    return Segment(
        vectors=map_numbers(folder / "vectors.f32", "<f4", (part.count, dimension)),
        rows=map_numbers(folder / "rows.i64", "<i8", (part.count,)),
        ids=map_ids(folder, part.count),
        dead=map_numbers(dead, "|u1", (part.count,)).astype(np.bool_) if dead.exists() else None,
        graph=Graph(neighbours, part.count, part.trained_on, settings) if neighbours.exists() else None,
        folded=True,
    )


_MOST_DEAD = 0.2
"""A graph in which more than this share is dead wastes its steps on them and is built anew."""
_MOST_GROWTH = 2
"""The codes' ranges come from the vectors they were trained on; beyond so many times as many, they are learned anew."""
_AT_ONCE = 65_536


def write_folded(folder: Path, view: View, settings: Settings) -> None:
    """Write all of a view's vectors into a folder of derived files."""
    parts = []
    for number, (modality, segments) in enumerate(sorted(view.partitions.items())):
        target = folder / str(number)
        target.mkdir()
        parts.append(_write_part(target, modality, segments, settings))
    write_manifest(folder, view, parts)


def _write_part(folder: Path, modality: str, segments: tuple[Segment, ...], settings: Settings) -> Part:
    living = sum(segment.living for segment in segments)
    first, recent = segments[0], segments[1:]
    wants_graph = settings.wants_graph(living)
    if wants_graph and first.graph is not None and _may_grow(first, first.graph, living):
        # Positions in a graph cannot be given back, so the dead keep theirs and are marked.
        extend_graph(first.graph, _living_blocks(recent), folder / GRAPH_FILE)
        if first.dead is not None:
            alive = np.zeros(sum(segment.living for segment in recent), np.bool_)
            write_numbers(folder / "dead.u8", [np.concatenate([first.dead, alive])], "|u1")
        whole = Segment(first.vectors, first.rows, first.ids)
        return _write_columns(folder, modality, (whole, *recent), first.graph.trained_on)
    part = _write_columns(folder, modality, segments, living)
    if wants_graph:
        vectors = np.memmap(folder / "vectors.f32", "<f4", "r", shape=(living, first.vectors.shape[1]))
        build_graph(_blocks(vectors), vectors, folder / GRAPH_FILE, settings)
    return part


def _may_grow(segment: Segment, grown_from: Graph, living: int) -> bool:
    dead = len(segment) - segment.living
    return (
        dead <= _MOST_DEAD * len(segment)
        and living <= _MOST_GROWTH * grown_from.trained_on
        and grown_from.path.exists()
    )


def _write_columns(folder: Path, modality: str, segments: Iterable[Segment], trained_on: int) -> Part:
    columns = [segment.living_parts() for segment in segments]
    write_numbers(folder / "vectors.f32", (block for part in columns for block in _blocks(part[0])), "<f4")
    write_numbers(folder / "rows.i64", (part[1] for part in columns), "<i8")
    write_ids(folder, [id for part in columns for id in part[2]])
    return Part(modality, sum(len(part[1]) for part in columns), trained_on)


def _living_blocks(segments: Iterable[Segment]) -> Iterator[Singles]:
    for segment in segments:
        yield from _blocks(segment.living_parts()[0])


def _blocks(vectors: Singles) -> Iterator[Singles]:
    for start in range(0, len(vectors), _AT_ONCE):
        yield vectors[start : start + _AT_ONCE]
