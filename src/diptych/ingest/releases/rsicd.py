"""RSICD: aerial pictures with five captions each (Lu et al., 2018)."""

import json
from pathlib import Path
from typing import Any

from diptych._core.errors import DataError
from diptych._core.progress import Progress, silent
from diptych.data import Dataset
from diptych.data.tables import Problem, Row, Table
from diptych.ingest.columns import Columns
from diptych.ingest.items import Captions, Gathering, gather_items
from diptych.ingest.options import IngestOptions
from diptych.ingest.releases.release import Release, find_pictures

PAIRS, ARCHIVE = "pairs.jsonl", "images.tar"
CAPTIONS, PICTURES, CLASS_LISTS = "dataset_rsicd.json", "RSICD_images", "txtclasses_rsicd"
OVERLAPPING = "playfields"
"""A class of the release whose pictures belong to other classes too; it is left out."""

CITATION = (
    "X. Lu, B. Wang, X. Zheng, X. Li: Exploring Models and Data for Remote Sensing Image Caption Generation. "
    "IEEE Transactions on Geoscience and Remote Sensing 56(4), 2018."
)
_FROM = f"get {CAPTIONS}, {PICTURES} and {CLASS_LISTS} from the authors (github.com/201528014227051/RSICD_optimal)."


def import_rsicd(
    folder: str | Path,
    out: str | Path,
    *,
    image_features: str = "nuswide",
    text_features: str = "bow:1000",
    captions: Captions = "join",
    seed: int = 0,
    workers: int = 0,
    progress: Progress = silent,
    overwrite: bool = False,
) -> Dataset:
    """Make a dataset of a copy of RSICD: the release, or `pairs.jsonl` beside `images.tar`.

    Args:
        folder: where the files are; see `read_rsicd`.
        out: the folder to make.
        image_features: of the pictures; several are put side by side with "+".
        text_features: of the captions.
        captions: what becomes of an item's five captions: "join", "first" or "each".
        seed: of all that is drawn.
        workers: parallel processes; 0 works in this one.
        progress: told how far it is.
        overwrite: replace a dataset that is already there.

    Raises:
        DataError: naming what is missing and where it is from.
    """
    features = {"image": image_features, "text": text_features}
    release = read_rsicd(folder, out, features=features, captions=captions, seed=seed, overwrite=overwrite)
    return release.ingest(workers=workers, progress=progress).dataset


def read_rsicd(
    folder: str | Path,
    out: str | Path,
    *,
    features: dict[str, str],
    captions: Captions = "join",
    seed: int = 0,
    overwrite: bool = False,
) -> Release:
    """Read what a copy of RSICD holds, before any picture is.

    The release is `dataset_rsicd.json` with the pictures in `RSICD_images`, a folder or an archive. Classes are those
    of the lists in `txtclasses_rsicd`, or, where that is not there, of names such as `airport_1.jpg`. Splits are the
    release's own. A folder with `pairs.jsonl` and `images.tar` is read as `diptych ingest` would.
    """
    folder = Path(folder)
    pairs = folder / (PAIRS if (folder / PAIRS).is_file() else CAPTIONS)
    if not pairs.is_file():
        raise DataError(f"{folder} holds neither {CAPTIONS} nor {PAIRS}; {_FROM}")
    gathered = None
    if pairs.name == PAIRS:
        pictures = folder / ARCHIVE if (folder / ARCHIVE).exists() else folder
    else:
        pictures, gathered = _read_release(folder)
    options = IngestOptions(
        pairs,
        Path(out),
        images=pictures,
        features=features,
        captions=captions,
        name="rsicd",
        seed=seed,
        overwrite=overwrite,
        about={"release": "rsicd", "citation": CITATION},
    )
    return Release(options, gathered)


def _read_release(folder: Path) -> tuple[Path, Gathering]:
    entries = _entries(folder / CAPTIONS)
    lists, problems = _class_lists(folder)
    pictures, prefix = find_pictures(folder, PICTURES, (str(entry["filename"]) for entry in entries), _FROM)
    rows: list[Row] = []
    for number, entry in enumerate(entries, start=1):
        name = str(entry["filename"])
        label = lists.get(name) if lists else _class_in_name(name)
        if label == OVERLAPPING:
            problems.append(Problem("row", name, f"is of the class '{OVERLAPPING}', which overlaps others"))
            continue
        cells = {"image": prefix + name, "id": name, "text": entry.get("sentences"), "split": entry.get("split")}
        rows.append(Row(number, cells | {"label": label}))
    columns = Columns(image="image", text="text", label="label", split="split", id="id")
    gathered = gather_items(Table(CAPTIONS, tuple(columns.to_json()), rows), columns)
    gathered.problems[:0] = problems
    return pictures, gathered


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON ({error}); {_FROM}") from None
    entries = content.get("images") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{path} has no list 'images'; {_FROM}")
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not entry.get("filename"):
            raise DataError(f"{path}: entry {number} of 'images' has no 'filename'; {_FROM}")
    return entries


def _class_lists(folder: Path) -> tuple[dict[str, str], list[Problem]]:
    """The class of each picture that a list names; empty where there are no lists."""
    found: dict[str, str] = {}
    problems: list[Problem] = []
    lists = sorted((folder / CLASS_LISTS).glob("*.txt"), key=lambda path: path.stem.lower())
    for path in sorted(lists, key=lambda path: path.stem.lower() == OVERLAPPING):  # the overlapping class comes last
        label = path.stem.lower()
        for name in path.read_text(encoding="utf-8", errors="replace").split():
            first = found.setdefault(name, label)
            if first != label and label != OVERLAPPING:
                problems.append(Problem("note", name, f"is listed as '{first}' and as '{label}'; '{first}' is kept"))
    return found, problems


def _class_in_name(name: str) -> str | None:
    """The class in a name such as `airport_1.jpg`, None for one such as `00623.jpg`."""
    label, underscore, _ = Path(name).stem.rpartition("_")
    return label.lower() if underscore and label else None
