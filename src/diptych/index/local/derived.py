"""The derived files: one folder a state, written whole, checked when opened, thrown away when in doubt.

derived/<name>/manifest.json     what it reflects, and size and checksum of every file
derived/<name>/<n>/vectors.f32   the vectors of the n-th modality
                   rows.i64      their row numbers in SQLite
                   ids.s<width>  their ids; ids.txt and offsets.i64 if some are long
                   dead.u8       which were removed; left out if none were
                   neighbours.faiss   left out while vectors are compared one by one
"""

import json
import logging
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.errors import DataError
from diptych._core.files import read_json, write_json
from diptych.index.local import graph
from diptych.index.local.graph import Graph
from diptych.index.local.ids import map_ids
from diptych.index.local.mapped import checksum, map_numbers
from diptych.index.local.segment import Segment
from diptych.index.local.settings import Settings
from diptych.index.local.view import View

FOLDER = "derived"
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
    dead, neighbours = folder / "dead.u8", folder / graph.FILE
    return Segment(
        vectors=map_numbers(folder / "vectors.f32", "<f4", (part.count, dimension)),
        rows=map_numbers(folder / "rows.i64", "<i8", (part.count,)),
        ids=map_ids(folder, part.count),
        dead=map_numbers(dead, "|u1", (part.count,)).astype(np.bool_) if dead.exists() else None,
        graph=Graph(neighbours, part.count, part.trained_on, settings) if neighbours.exists() else None,
        folded=True,
    )
