"""The Wikipedia cross-modal set (Rasiwasia et al., 2010): import its features, and read the lists of its documents.

The lists come with the features and with the raw files alike.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from diptych._core.arrays import Features, Integers
from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator
from diptych.data.dataset import Dataset
from diptych.data.importers.array_files import Reference, describe_files, load_npy, require_file
from diptych.data.importers.reading import read_features
from diptych.data.modality import ModalityRows
from diptych.data.writing import Draft, check_target, write_dataset

Split = Literal["auto", "authors", "seeded"]
SPLIT_CHOICES: tuple[Split, ...] = ("auto", "authors", "seeded")
LISTS = {"train": "trainset_txt_img_cat.list", "test": "testset_txt_img_cat.list"}
CLASSES = "categories.list"
FEATURES = "raw_features.mat"
PERMUTATION = "val_test_permutation.npy"
VAL_SHARE_OF_TEST = 1 / 3  # 231 of 693
CITATION = (
    "N. Rasiwasia, J. Costa Pereira, E. Coviello, G. Doyle, G. R. G. Lanckriet, R. Levy, N. Vasconcelos: "
    "A New Approach to Cross-Modal Multimedia Retrieval. ACM Multimedia, 2010."
)


@dataclass(frozen=True)
class Listing:
    """The rows of one list file: text id, image id and class of each document."""

    texts: list[str]
    images: list[str]
    classes: list[str]


@dataclass(frozen=True)
class WikipediaLists:
    """All documents, training ones first.

    Attributes:
        classes: the class names in the release's order.
        train: the training documents.
        test: the official test documents.
        splits: the split of each document: official test documents are validation or test.
        split_note: how they were told apart, in words.
        files: the files that were read.
    """

    classes: list[str]
    train: Listing
    test: Listing
    splits: list[str]
    split_note: str
    files: list[Path]

    @property
    def all(self) -> Listing:
        """Training documents, then test documents."""
        return Listing(
            self.train.texts + self.test.texts,
            self.train.images + self.test.images,
            self.train.classes + self.test.classes,
        )

    @property
    def ids(self) -> list[str]:
        """The texts' ids, made unique where they are not."""
        texts = self.all.texts
        return texts if len(set(texts)) == len(texts) else [f"{text}-row{row}" for row, text in enumerate(texts)]


def read_wikipedia_lists(folder: Path, *, seed: int, split: Split) -> WikipediaLists:
    """Read the lists and split the test documents.

    These are put in the order of `val_test_permutation.npy`, the authors' own, or in one drawn by seed; the first
    third is validation and the rest is test.

    Args:
        folder: where the `.list` files are.
        seed: the order of the test documents when it is drawn.
        split: "authors" (needs the permutation), "seeded", or "auto" for the authors' when it is there.

    Raises:
        DataError: naming file, row and fix.
    """
    if split not in SPLIT_CHOICES:
        raise ConfigError(f"split is {split!r}; choose one of {', '.join(SPLIT_CHOICES)}.")
    files = [folder / name for name in (*LISTS.values(), CLASSES)]
    for path in files:
        require_file(path)
    names = _class_names(folder / CLASSES)
    train, test = (_read_list(folder / name, names) for name in LISTS.values())
    by_authors = split == "authors" or (split == "auto" and (folder / PERMUTATION).exists())
    if by_authors:
        order = _authors_order(folder / PERMUTATION, len(test.texts))
        note = f"authors' permutation of the test documents ({PERMUTATION}), first third validation"
        files.append(folder / PERMUTATION)
    else:
        order = generator(seed, "wikipedia", "test order").permutation(len(test.texts))
        note = f"test documents shuffled with seed {seed}, first third validation"
    return WikipediaLists(names, train, test, ["train"] * len(train.texts) + _val_or_test(order), note, files)


def _class_names(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _read_list(path: Path, names: list[str]) -> Listing:
    listing = Listing([], [], [])
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        cells = line.split("\t")
        if len(cells) != 3:
            raise DataError(f"{path}, line {number} has {len(cells)} fields; it needs text id, image id and class.")
        text, image, code = (cell.strip() for cell in cells)
        if not code.isdigit() or not 1 <= int(code) <= len(names):
            raise DataError(f"{path}, line {number} has the class {code!r}; it must be 1 to {len(names)}.")
        listing.texts.append(text)
        listing.images.append(image)
        listing.classes.append(names[int(code) - 1])
    return listing


def _authors_order(path: Path, count: int) -> Integers:
    require_file(path)
    order = np.asarray(load_npy(Reference(path)))
    if order.ndim != 1 or order.dtype.kind not in "iu" or not np.array_equal(np.sort(order), np.arange(count)):
        raise DataError(f"{path} is not an order of the {count} test documents, 0 to {count - 1}; use --split seeded.")
    return order.astype(np.int64)


def _val_or_test(order: Integers) -> list[str]:
    splits = np.full(len(order), "test", dtype="<U5")
    splits[order[: round(VAL_SHARE_OF_TEST * len(order))]] = "val"
    return [str(split) for split in splits]


def import_wikipedia(
    folder: str | Path, out: str | Path, *, seed: int = 0, split: Split = "auto", overwrite: bool = False
) -> Dataset:
    """Make a dataset of the release's folder: 2,173 training, 231 validation and 462 test documents.

    The official test documents are put in the order of `val_test_permutation.npy`, the authors' own, or in one
    drawn by seed; the first third is validation and the rest is test.

    Args:
        folder: where `raw_features.mat` and the `.list` files are.
        out: the folder to make.
        seed: the order of the test documents when it is drawn.
        split: "authors" (needs the permutation), "seeded", or "auto" for the authors' when it is there.
        overwrite: replace a dataset that is already there.

    Raises:
        DataError: naming file, row and fix; nothing is left behind.
    """
    check_target(out, overwrite=overwrite)
    folder = Path(folder)
    require_file(folder / FEATURES)
    lists = read_wikipedia_lists(folder, seed=seed, split=split)
    draft = Draft(
        name="wikipedia",
        ids=lists.ids,
        splits=lists.splits,
        labels=lists.all.classes,
        classes=lists.classes,
        modalities={
            "image": _both_parts(folder, "I_tr", "I_te", lists),
            "text": _both_parts(folder, "T_tr", "T_te", lists),
        },
        metadata={"text_id": lists.all.texts, "image_id": lists.all.images},
        source={
            "importer": "wikipedia",
            "files": describe_files([folder / FEATURES, *lists.files]),
            "split": lists.split_note,
            "citation": CITATION,
        },
        origin=str(folder),
    )
    return write_dataset(out, draft, overwrite=overwrite)


def _both_parts(folder: Path, train_name: str, test_name: str, lists: WikipediaLists) -> ModalityRows:
    """Stack a modality's training and test rows after comparing them with the lists."""
    parts: list[Features] = []
    for name, listing, file in ((train_name, lists.train, LISTS["train"]), (test_name, lists.test, LISTS["test"])):
        reference = Reference(folder / FEATURES, name)
        values = read_features(reference)
        if values.shape[0] != len(listing.texts):
            raise DataError(
                f"{reference} has {values.shape[0]} rows but {file} has {len(listing.texts)}; download both again."
            )
        parts.append(values)
    if parts[0].shape[1] != parts[1].shape[1]:
        raise DataError(
            f"{folder / FEATURES}: {train_name} has {parts[0].shape[1]} columns and {test_name} has "
            f"{parts[1].shape[1]}; they must be the same."
        )
    return ModalityRows("dense", np.vstack([np.asarray(part) for part in parts]), None, str(folder / FEATURES))
