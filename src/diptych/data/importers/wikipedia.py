"""Import the official feature release of the Wikipedia cross-modal set (Rasiwasia et al., 2010)."""

from pathlib import Path

import numpy as np

from diptych._core.arrays import Features
from diptych._core.errors import DataError
from diptych.data.dataset import Dataset
from diptych.data.importers.reading import read_features
from diptych.data.importers.references import Reference, describe_files, require_file
from diptych.data.importers.wikipedia_lists import CITATION, LISTS, Split, WikipediaLists, read_wikipedia_lists
from diptych.data.modality import ModalityRows
from diptych.data.writing import Draft, check_target, write_dataset

FEATURES = "raw_features.mat"


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
