"""Splits: as a column names them, or drawn by seed within each class."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from diptych._core.arrays import Strings
from diptych._core.errors import ConfigError, DataError
from diptych._core.seeding import generator

SPLITS = ("train", "val", "test")
_NAMES = {
    "train": ("train", "training", "trainset", "restrain", "trn", "train2014", "train2017"),
    "val": ("val", "valid", "validation", "dev", "development", "valset", "val2014", "val2017"),
    "test": ("test", "testing", "testset", "eval", "evaluation", "tst", "test2014", "test2017"),
}


def split_named(name: str) -> str | None:
    """The split that a word, or the name of a folder or a file, means; None when it means none.

    >>> split_named("Validation"), split_named("holiday")
    ('val', None)
    """
    plain = name.strip().lower()
    return next((split for split, names in _NAMES.items() if plain in names), None)


def read_split_words(cells: Sequence[Any], origin: str) -> list[str]:
    """Read the split of every item from a column of words.

    Raises:
        DataError: for a word that names no split.
    """
    splits: list[str] = []
    for row, cell in enumerate(cells):
        split = split_named(str(cell))
        if split is None:
            raise DataError(f"{origin}: row {row} has the split {cell!r}; use one of {', '.join(SPLITS)}.")
        splits.append(split)
    return splits


def split_documents(
    labels: Sequence[Sequence[str]], documents: Sequence[str], seed: int, val_share: float, test_share: float
) -> list[str]:
    """Split documents whole within each class, several labels counting as their first.

    Unlabelled documents stay in training where others have labels, for nothing can be measured on them.
    """
    stratum: dict[str, str | None] = {}
    for document, found in zip(documents, labels, strict=True):
        stratum[document] = stratum.get(document) or (found[0] if found else None)
    chosen = [document for document, name in stratum.items() if name is not None] or list(stratum)
    drawn = stratified_split([stratum[document] for document in chosen], seed, val_share, test_share)
    split_of = dict(zip(chosen, drawn.tolist(), strict=True))
    return [split_of.get(document, "train") for document in documents]


def stratified_split(
    strata: Sequence[str | None], seed: int, val_share: float = 0.1, test_share: float = 0.2
) -> Strings:
    """Give every item a split, with the same shares inside every stratum (class, or none).

    A stratum of at least three items has one in each split; a smaller one stays in training first.
    """
    if val_share < 0 or test_share < 0 or val_share + test_share >= 1:
        raise ConfigError(
            f"val share {val_share} and test share {test_share} must not be negative and must leave room for training."
        )
    splits = np.full(len(strata), "train", dtype="<U5")
    keys = np.array(["" if stratum is None else f"={stratum}" for stratum in strata])
    random = generator(seed, "split")
    for key in np.unique(keys):
        members = random.permutation(np.flatnonzero(keys == key))
        val, test = _quotas(len(members), val_share, test_share)
        splits[members[:test]] = "test"
        splits[members[test : test + val]] = "val"
    return splits


def _quotas(count: int, val_share: float, test_share: float) -> tuple[int, int]:
    """How many of a stratum's items go to validation and to test; training keeps at least one."""
    least_val, least_test = (int(share > 0 and count >= 3) for share in (val_share, test_share))
    test = min(max(round(test_share * count), least_test), count - 1 - least_val)
    val = min(max(round(val_share * count), least_val), count - 1 - test)
    return val, test
