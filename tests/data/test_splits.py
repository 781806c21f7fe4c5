from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.data import SPLITS, stratified_split

shares = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.33, 0.45])


@given(st.lists(st.sampled_from(["a", "b", "", None]), min_size=1, max_size=60), st.integers(0, 99), shares, shares)
def test_every_stratum_is_spread_over_the_splits(strata, seed, val_share, test_share):
    splits = stratified_split(strata, seed, val_share, test_share).tolist()
    assert set(splits) <= set(SPLITS)
    for stratum in set(strata):
        found = Counter(split for split, other in zip(splits, strata, strict=True) if other == stratum)
        count = found.total()
        assert found["train"] >= 1
        for split, share in (("val", val_share), ("test", test_share)):
            assert abs(found[split] - share * count) <= 1
            assert (found[split] > 0) == (share > 0) or count < 3


def test_the_seed_decides_and_order_of_other_classes_does_not_matter():
    strata = ["a", "b"] * 50
    assert stratified_split(strata, 1).tolist() == stratified_split(strata, 1).tolist()
    assert stratified_split(strata, 1).tolist() != stratified_split(strata, 2).tolist()


def test_none_and_the_empty_name_are_different_strata():
    splits = stratified_split(["", None] * 10, 0, 0.1, 0.1)
    assert Counter(splits[::2]) == Counter(splits[1::2]) == {"train": 8, "val": 1, "test": 1}


def test_shares_of_a_thousand_are_exact():
    assert Counter(stratified_split(["x"] * 1000, 0, 0.1, 0.1).tolist()) == {"train": 800, "val": 100, "test": 100}


@pytest.mark.parametrize(("val_share", "test_share"), [(-0.1, 0.2), (0.5, 0.5), (0.1, 1.2)])
def test_impossible_shares_are_refused(val_share, test_share):
    with pytest.raises(ConfigError, match="leave room for training"):
        stratified_split(["a"], 0, val_share, test_share)
