"""Splits: as given, whatever they are called, or drawn."""

from collections import Counter

import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.ingest.items import Item
from diptych.ingest.plan import SplitShares, assign_splits, split_named


def items(splits, documents=None):
    documents = documents or range(len(splits))
    return [Item(str(i), str(d), f"line {i}", split=s) for i, (s, d) in enumerate(zip(splits, documents, strict=True))]


def test_given_splits_are_mapped() -> None:
    assert assign_splits(items(["Training", "dev", "TEST", "valid"]), [[]] * 4, None, 0) == [
        *("train", "val", "test", "val")
    ]
    assert split_named("holiday") is None


def test_an_item_of_an_unknown_split_is_named_and_one_without_is_a_training_item() -> None:
    with pytest.raises(DataError, match=r"line 1 has the split 'holiday'; .*--split-shares"):
        assign_splits(items(["train", "holiday"]), [[]] * 2, None, 0)
    assert assign_splits(items(["test", None]), [[]] * 2, None, 0) == ["test", "train"]


def test_drawn_splits_have_the_shares_in_every_class() -> None:
    labels = [["a"]] * 100 + [["b"]] * 50
    drawn = assign_splits(items([None] * 150), labels, SplitShares.parse("60,20,20"), 3)
    assert Counter(drawn[:100]) == {"train": 60, "val": 20, "test": 20}
    assert Counter(drawn[100:]) == {"train": 30, "val": 10, "test": 10}
    assert drawn == assign_splits(items([None] * 150), labels, SplitShares.parse("0.6,0.2,0.2"), 3)
    assert drawn != assign_splits(items([None] * 150), labels, SplitShares.parse("60,20,20"), 4)


def test_shares_set_given_splits_aside_and_documents_stay_together() -> None:
    documents = [number // 5 for number in range(200)]
    drawn = assign_splits(items(["test"] * 200, documents), [[]] * 200, SplitShares(), 0)
    assert Counter(drawn) == {"train": 140, "val": 20, "test": 40}
    assert all(len(set(drawn[start : start + 5])) == 1 for start in range(0, 200, 5))


@pytest.mark.parametrize("text", ["1,2", "a,b,c", "0,1,1", "1,-1,2", "nan,1,1"])
def test_senseless_shares_are_refused(text) -> None:
    with pytest.raises(ConfigError, match="write three for train, val and test"):
        SplitShares.parse(text)
