"""The raw files of the Wikipedia cross-modal set (Rasiwasia et al., 2010): pictures and articles' texts in XML."""

import html
import re
from pathlib import Path
from xml.etree import ElementTree

from diptych._core.errors import DataError
from diptych._core.progress import Progress, silent
from diptych.data import Dataset
from diptych.data.importers.wikipedia import CITATION, CLASSES, LISTS, Split, read_wikipedia_lists
from diptych.data.tables import Problem, read_lines
from diptych.ingest.items import Gathering, Item
from diptych.ingest.options import IngestOptions
from diptych.ingest.releases.release import Release, find_pictures

PICTURES, TEXTS = "images", "texts"
_FROM = (
    f"get {PICTURES}, {TEXTS}, {CLASSES} and the two _txt_img_cat.list files from the authors "
    "(www.svcl.ucsd.edu/projects/crossmodal)."
)
_TAG = re.compile(r"<[^<>]*>")


def import_wikipedia_raw(
    folder: str | Path,
    out: str | Path,
    *,
    image_features: str = "wikipedia",
    text_features: str = "bow:3000",
    split: Split = "auto",
    seed: int = 0,
    workers: int = 0,
    progress: Progress = silent,
    overwrite: bool = False,
) -> Dataset:
    """Make a dataset of the raw release: 2,173 training, 231 validation and 462 test documents.

    Args:
        folder: where the files are; see `read_wikipedia_raw`.
        out: the folder to make.
        image_features: of the pictures; several are put side by side with "+".
        text_features: of the articles' texts.
        split: "authors", "seeded" or "auto"; see `diptych.data.importers.import_wikipedia`.
        seed: of all that is drawn.
        workers: parallel processes; 0 works in this one.
        progress: told how far it is.
        overwrite: replace a dataset that is already there.

    Raises:
        DataError: naming what is missing and where it is from.
    """
    features = {"image": image_features, "text": text_features}
    release = read_wikipedia_raw(folder, out, features=features, split=split, seed=seed, overwrite=overwrite)
    return release.ingest(workers=workers, progress=progress).dataset


def read_wikipedia_raw(
    folder: str | Path,
    out: str | Path,
    *,
    features: dict[str, str],
    split: Split = "auto",
    seed: int = 0,
    overwrite: bool = False,
) -> Release:
    """Read the lists and the texts: `images/CLASS/ID.jpg` (a folder or an archive) and `texts/ID.xml`."""
    folder = Path(folder)
    for name in (*LISTS.values(), CLASSES, TEXTS):
        if not (folder / name).exists():
            raise DataError(f"{folder} holds no {name}; {_FROM}")
    lists = read_wikipedia_lists(folder, seed=seed, split=split)
    documents = lists.all
    names = [f"{label}/{image}.jpg" for label, image in zip(documents.classes, documents.images, strict=True)]
    pictures, prefix = find_pictures(folder, PICTURES, names, _FROM)
    gathered = Gathering()
    for name, number, text, label, part in zip(
        names, lists.ids, documents.texts, documents.classes, lists.splits, strict=True
    ):
        read = _article(folder / TEXTS / f"{text}.xml", gathered.problems)
        texts = () if read is None else (read,)
        gathered.items[number] = Item(number, number, number, prefix + name, texts, label, part)
    if not any(item.texts for item in gathered.items.values()):
        raise DataError(f"{folder / TEXTS} holds none of the {len(lists.ids)} texts that are listed; {_FROM}")
    about = {"release": "wikipedia-raw", "split": lists.split_note, "citation": CITATION}
    options = IngestOptions(
        folder / LISTS["train"],
        Path(out),
        images=pictures,
        features=features,
        name="wikipedia-raw",
        seed=seed,
        overwrite=overwrite,
        about=about,
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
