"""Write derived files that reflect a view: a graph takes up recent vectors, or is built anew when it has aged."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from diptych._core.arrays import Singles
from diptych.index.local import graph
from diptych.index.local.derived import Part, write_manifest
from diptych.index.local.graph import Graph, build_graph, extend_graph
from diptych.index.local.ids import write_ids
from diptych.index.local.mapped import write_numbers
from diptych.index.local.segment import Segment
from diptych.index.local.settings import Settings
from diptych.index.local.view import View

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
        extend_graph(first.graph, _living_blocks(recent), folder / graph.FILE)
        if first.dead is not None:
            alive = np.zeros(sum(segment.living for segment in recent), np.bool_)
            write_numbers(folder / "dead.u8", [np.concatenate([first.dead, alive])], "|u1")
        whole = Segment(first.vectors, first.rows, first.ids)
        return _write_columns(folder, modality, (whole, *recent), first.graph.trained_on)
    part = _write_columns(folder, modality, segments, living)
    if wants_graph:
        vectors = np.memmap(folder / "vectors.f32", "<f4", "r", shape=(living, first.vectors.shape[1]))
        build_graph(_blocks(vectors), vectors, folder / graph.FILE, settings)
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
