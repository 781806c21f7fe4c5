"""Import the official feature release of the Wikipedia cross-modal set (Rasiwasia et al., 2010)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from diptych.arrays import Features, Integers
from diptych.data.dataset import Dataset
from diptych.data.importers.numpy_files import load_npy
from diptych.data.importers.reading import read_features
from diptych.data.importers.references import Reference, describe_files, require_file
from diptych.data.modality import ModalityRows
from diptych.data.writing import Draft, check_target, write_dataset
from diptych.errors import ConfigError, DataError
from diptych.seeding import generator

Split = Literal["auto", "authors", "seeded"]
SPLIT_CHOICES: tuple[Split, ...] = ("auto", "authors", "seeded")
FEATURES = "raw_features.mat"
LISTS = {"train": "trainset_txt_img_cat.list", "test": "testset_txt_img_cat.list"}
CLASSES = "categories.list"
PERMUTATION = "val_test_permutation.npy"
VAL_SHARE_OF_TEST = 1 / 3  # 231 of 693
CITATION = (
    "N. Rasiwasia, J. Costa Pereira, E. Coviello, G. Doyle, G. R. G. Lanckriet, R. Levy, N. Vasconcelos: "
    "A New Approach to Cross-Modal Multimedia Retrieval. ACM Multimedia, 2010."
)


@dataclass(frozen=True)
class _Listing:
    """The rows of one list file: text id, image id and class of each document."""

    texts: list[str]
    images: list[str]
    classes: list[str]


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
    if split not in SPLIT_CHOICES:
        raise ConfigError(f"split is {split!r}; choose one of {', '.join(SPLIT_CHOICES)}.")
    needed = [folder / name for name in (FEATURES, *LISTS.values(), CLASSES)]
    for path in needed:
        require_file(path)
    names = _class_names(folder / CLASSES)
    train, test = (_read_list(folder / name, names) for name in LISTS.values())
    by_authors = split == "authors" or (split == "auto" and (folder / PERMUTATION).exists())
    order = _authors_order(folder / PERMUTATION, len(test.texts)) if by_authors else None
    if order is None:
        order = generator(seed, "wikipedia", "test order").permutation(len(test.texts))
    texts, images = train.texts + test.texts, train.images + test.images
    draft = Draft(
        name="wikipedia",
        ids=texts if len(set(texts)) == len(texts) else [f"{text}-row{row}" for row, text in enumerate(texts)],
        splits=["train"] * len(train.texts) + _val_or_test(order),
        labels=train.classes + test.classes,
        classes=names,
        modalities={
            "image": _both_parts(folder, "I_tr", "I_te", train, test),
            "text": _both_parts(folder, "T_tr", "T_te", train, test),
        },
        metadata={"text_id": texts, "image_id": images},
        source={
            "importer": "wikipedia",
            "files": describe_files([*needed, folder / PERMUTATION] if by_authors else needed),
            "split": f"authors' permutation of the test documents ({PERMUTATION}), first third validation"
            if by_authors
            else f"test documents shuffled with seed {seed}, first third validation",
            "citation": CITATION,
        },
        origin=str(folder),
    )
    return write_dataset(out, draft, overwrite=overwrite)


def _class_names(path: Path) -> list[str]:
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _read_list(path: Path, names: list[str]) -> _Listing:
    listing = _Listing([], [], [])
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


def _both_parts(folder: Path, train_name: str, test_name: str, train: _Listing, test: _Listing) -> ModalityRows:
    """Stack a modality's training and test rows after comparing them with the lists."""
    parts: list[Features] = []
    for name, listing, file in ((train_name, train, LISTS["train"]), (test_name, test, LISTS["test"])):
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
