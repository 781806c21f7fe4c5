"""Data sets as their authors release them: RSICD and the raw files of the Wikipedia cross-modal set."""

import html
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from diptych._core.errors import DataError
from diptych._core.progress import Progress, silent
from diptych.data import Dataset
from diptych.data.importers.wikipedia import CITATION as WIKIPEDIA_CITATION
from diptych.data.importers.wikipedia import CLASSES, LISTS, Split, read_wikipedia_lists
from diptych.data.tables import Problem, Row, Table, read_lines
from diptych.ingest.columns import Columns
from diptych.ingest.items import GatheredItems, Item, gather_items
from diptych.ingest.options import Captions, IngestOptions
from diptych.ingest.plan import Plan
from diptych.ingest.run import Ingested, ingest
from diptych.media import RefusedNameError, open_source

PAIRS, ARCHIVE = "pairs.jsonl", "images.tar"
CAPTIONS, RSICD_IMAGES, CLASS_LISTS = "dataset_rsicd.json", "RSICD_images", "txtclasses_rsicd"
OVERLAPPING = "playfields"
"""A class of RSICD whose images belong to other classes too; it is left out."""
WIKIPEDIA_IMAGES, TEXTS = "images", "texts"
RSICD_CITATION = (
    "X. Lu, B. Wang, X. Zheng, X. Li: Exploring Models and Data for Remote Sensing Image Caption Generation. "
    "IEEE Transactions on Geoscience and Remote Sensing 56(4), 2018."
)
_RSICD = (
    f"get {CAPTIONS}, {RSICD_IMAGES} and {CLASS_LISTS} from the authors (github.com/201528014227051/RSICD_optimal)."
)
_WIKIPEDIA = (
    f"get {WIKIPEDIA_IMAGES}, {TEXTS}, {CLASSES} and the two _txt_img_cat.list files from the authors "
    "(www.svcl.ucsd.edu/projects/crossmodal)."
)
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
_TRIED = 20
_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True)
class Release:
    """What is in a release's folder, ready to be ingested.

    Attributes:
        options: of the ingest, with the release's images and citation.
        gathered: its items; None where `options.pairs` is a table that is read as any other.
    """

    options: IngestOptions
    gathered: GatheredItems | None = None

    def ingest(
        self,
        *,
        workers: int = 0,
        progress: Progress = silent,
        planned: Callable[[Plan], None] = lambda plan: None,
    ) -> Ingested:
        """Make the dataset; what is done is kept, as `diptych.ingest.ingest` does."""
        return ingest(self.options, gathered=self.gathered, workers=workers, progress=progress, planned=planned)


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
    """Make a dataset of a copy of RSICD (Lu et al., 2018): aerial images with five captions each.

    Args:
        folder: where the files are; see `read_rsicd`.
        out: the folder to make.
        image_features: of the images; several are put side by side with "+".
        text_features: of the captions.
        captions: what becomes of an item's five captions: "join", "first" or "each".
        seed: of all that is drawn.
        workers: parallel processes; 0 works in this one.
        progress: receives the progress.
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
    """Read the table of a copy of RSICD; no image is opened.

    The release is `dataset_rsicd.json` with the images in `RSICD_images`, a folder or an archive. Classes are those
    of the lists in `txtclasses_rsicd`, or, where that is not there, of names such as `airport_1.jpg`. Splits are the
    release's own. A folder with `pairs.jsonl` and `images.tar` is read as `diptych ingest` would.
    """
    folder = Path(folder)
    pairs = folder / (PAIRS if (folder / PAIRS).is_file() else CAPTIONS)
    if not pairs.is_file():
        raise DataError(f"{folder} holds neither {CAPTIONS} nor {PAIRS}; {_RSICD}")
    gathered = None
    if pairs.name == PAIRS:
        images = folder / ARCHIVE if (folder / ARCHIVE).exists() else folder
    else:
        images, gathered = _rsicd_items(folder)
    about = {"release": "rsicd", "citation": RSICD_CITATION}
    options = IngestOptions(
        pairs, Path(out), images, features, captions=captions, name="rsicd", seed=seed, overwrite=overwrite, about=about
    )
    return Release(options, gathered)


def _rsicd_items(folder: Path) -> tuple[Path, GatheredItems]:
    entries = _entries(folder / CAPTIONS)
    lists, problems = _class_lists(folder)
    images, prefix = _find_images(folder, RSICD_IMAGES, (str(entry["filename"]) for entry in entries), _RSICD)
    rows: list[Row] = []
    for number, entry in enumerate(entries, start=1):
        name = str(entry["filename"])
        label = lists.get(name) if lists else _class_in_name(name)
        if label == OVERLAPPING:
            problems.append(Problem("row", name, f"is of the class '{OVERLAPPING}', which overlaps others"))
            continue
        cells = {"image": prefix + name, "id": name, "text": entry.get("sentences"), "split": entry.get("split")}
        rows.append(Row(number, cells | {"label": label}))
    columns = Columns({"image": "image"}, text="text", label="label", split="split", id="id")
    gathered = gather_items(Table(CAPTIONS, tuple(columns.to_json()), rows), columns)
    gathered.problems[:0] = problems
    return images, gathered


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON ({error}); {_RSICD}") from None
    entries = content.get("images") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise DataError(f"{path} has no list 'images'; {_RSICD}")
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not entry.get("filename"):
            raise DataError(f"{path}: entry {number} of 'images' has no 'filename'; {_RSICD}")
    return entries


def _class_lists(folder: Path) -> tuple[dict[str, str], list[Problem]]:
    """The class of each image that a list names; empty where there are no lists."""
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


def read_wikipedia_raw(
    folder: str | Path,
    out: str | Path,
    *,
    features: dict[str, str],
    split: Split = "auto",
    seed: int = 0,
    overwrite: bool = False,
) -> Release:
    """Read the raw release of the Wikipedia set: 2,173 training, 231 validation and 462 test documents.

    Args:
        folder: with the lists, `images/CLASS/ID.jpg` (a folder or an archive) and `texts/ID.xml`.
        out: the folder to make.
        features: of "image" and "text", as a user writes them.
        split: "authors", "seeded" or "auto"; see `diptych.data.importers.import_wikipedia`.
        seed: of all that is drawn.
        overwrite: replace a dataset that is already there.

    Raises:
        DataError: naming what is missing and where it is from.
    """
    folder = Path(folder)
    for name in (*LISTS.values(), CLASSES, TEXTS):
        if not (folder / name).exists():
            raise DataError(f"{folder} holds no {name}; {_WIKIPEDIA}")
    lists = read_wikipedia_lists(folder, seed=seed, split=split)
    documents = lists.all
    names = [f"{label}/{image}.jpg" for label, image in zip(documents.classes, documents.images, strict=True)]
    images, prefix = _find_images(folder, WIKIPEDIA_IMAGES, names, _WIKIPEDIA)
    gathered = GatheredItems()
    for name, number, text, label, part in zip(
        names, lists.ids, documents.texts, documents.classes, lists.splits, strict=True
    ):
        read = _article(folder / TEXTS / f"{text}.xml", gathered.problems)
        texts = () if read is None else (read,)
        gathered.items[number] = Item(number, number, number, {"image": prefix + name}, texts, label, part)
    if not any(item.texts for item in gathered.items.values()):
        raise DataError(f"{folder / TEXTS} holds none of the {len(lists.ids)} texts that are listed; {_WIKIPEDIA}")
    about = {"release": "wikipedia-raw", "split": lists.split_note, "citation": WIKIPEDIA_CITATION}
    pairs = folder / LISTS["train"]
    options = IngestOptions(
        pairs, Path(out), images, features, name="wikipedia-raw", seed=seed, overwrite=overwrite, about=about
    )
    return Release(options, gathered)


def _article(path: Path, problems: list[Problem]) -> str | None:
    """The article's text: what the elements `text` hold, or all there is; None when there is nothing."""
    where = f"{TEXTS}/{path.name}"
    try:
        read = read_lines(path)
    except OSError as error:
        problems.append(Problem("text", where, f"cannot be read ({error.strerror})"))
        return None
    problems += read.problems
    content = "".join(read.lines)
    try:
        # Given as text, the declaration's encoding does not count: the lines are decoded already.
        root = ElementTree.fromstring(content)
        parts = ["".join(each.itertext()) for each in root.iter("text")] or ["".join(root.itertext())]
        text = "\n".join(parts)
    except ElementTree.ParseError as error:
        problems.append(Problem("note", where, f"is not valid XML ({error}) and was read without its tags"))
        text = html.unescape(_TAG.sub(" ", content))
    if not text.strip():
        problems.append(Problem("text", where, "is empty"))
    return text.strip() or None


def _find_images(folder: Path, name: str, images: Iterable[str], hint: str) -> tuple[Path, str]:
    """The folder or the archive of a release's images, and what to write before their names.

    Archives are packed with or without the folder's own name, so both are tried for the first few images.

    Args:
        folder: the release's folder.
        name: how the images' folder is called.
        images: their names below that folder.
        hint: where the release is from, for the error.
    """
    candidates = [folder / name, *(folder / f"{name}{suffix}" for suffix in _ARCHIVES)]
    there = [path for path in candidates if path.exists()]
    if not there:
        raise DataError(f"{folder} holds no {name}, neither as a folder nor as an archive; {hint}")
    some = [image for image, _ in zip(images, range(_TRIED), strict=False)]
    for path in there:
        with open_source(path) as source:
            for prefix in ("", f"{name}/", f"{name}/{name}/"):
                for image in some:
                    try:
                        source.locate(prefix + image)
                    except RefusedNameError:
                        continue
                    return path, prefix
    listing = f"'{some[0]}' and the {len(some) - 1} after it" if len(some) > 1 else f"'{some[0]}'" if some else "any"
    raise DataError(f"{there[0]} does not hold the images that the release lists ({listing} are missing); {hint}")
