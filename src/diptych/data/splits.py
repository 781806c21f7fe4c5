"""Splits by seed, stratified by class."""

from collections.abc import Sequence

import numpy as np

from diptych._core.arrays import Strings
from diptych._core.errors import ConfigError
from diptych._core.seeding import generator


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
