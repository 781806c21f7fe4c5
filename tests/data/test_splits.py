import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from diptych._core.errors import ConfigError, DataError
from diptych.data import SPLITS, Labels, Partition, stratified_split, write_dataset
from diptych.data.modality import remapped
from diptych.data.splits import Column

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


@pytest.fixture
def dataset(tmp_path, make_draft):
    return write_dataset(tmp_path / "d", make_draft())


def test_items_lacking_a_modality_are_left_out_on_request(dataset, make_draft):
    test = dataset.split("test")
    assert test.ids.tolist() == ["e", "f"]
    assert test.has("image").tolist() == [False, True]
    assert test.having("image").ids.tolist() == ["f"]
    assert test.having("text").ids.tolist() == ["e"]
    assert len(test.having("image", "text")) == 0
    draft = make_draft()
    np.testing.assert_array_equal(test.having("image").features("image"), draft.modalities["image"].values[[4]])
    np.testing.assert_array_equal(
        test.having("text").features("text").toarray(), draft.modalities["text"].values.toarray()[[4]]
    )


def test_asking_for_rows_an_item_lacks_is_refused(dataset):
    with pytest.raises(DataError, match=r"item 'e' has no image; ask for `having\('image'\)` first"):
        dataset.split("test").features("image")
    with pytest.raises(DataError, match="no modality 'sound'; there are image, text"):
        dataset.split("test").features("sound")


def test_labelled_items(dataset):
    assert dataset.split("train").labelled().ids.tolist() == ["a", "b"]


def test_other_labels_leave_the_original_alone(dataset):
    train = dataset.split("train")
    bare = train.with_labels(train.labels.keep_only(np.zeros(3, bool)))
    assert not bare.labels.is_labelled.any()
    assert train.labels.is_labelled.tolist() == [True, True, False]


@settings(max_examples=50)
@given(st.lists(st.booleans(), min_size=1, max_size=20), st.data())
def test_rows_follow_their_items_through_any_choice(present, data):
    present = np.array(present)
    values = np.flatnonzero(present)[:, None].astype(float)
    names = np.array([str(i) for i in range(len(present))])
    labels = Labels.from_codes([0] * len(present), ["x"])
    whole = Partition(np.arange(len(present)), names, names, labels, {"m": Column.of(values, present)})
    order = np.array(data.draw(st.lists(st.sampled_from(range(len(present))), max_size=20)), dtype=np.int64)
    chosen = whole.take(order).having("m")
    assert chosen.features("m").ravel().tolist() == [i for i in order.tolist() if present[i]]
    assert [int(name) for name in chosen.ids] == [i for i in order.tolist() if present[i]]


def whole_of(values) -> Partition:
    names = np.array([f"{i}" for i in range(values.shape[0])])
    labels = Labels.from_codes([0] * len(names), ["x"])
    return Partition(np.arange(len(names)), names, names, labels, {"m": Column.of(values, np.ones(len(names), bool))})


@settings(max_examples=50)
@given(st.integers(1, 20), st.integers(1, 25), st.booleans(), st.data())
def test_blocks_are_the_features_cut_up(count, rows, sparse, data):
    values = np.arange(3.0 * count).reshape(count, 3) + 1
    order = np.array(data.draw(st.lists(st.integers(0, count - 1), max_size=30)), dtype=np.int64)
    part = whole_of(sp.csr_array(values) if sparse else values).take(order)
    blocks = [block.toarray() if sparse else block for block in part.blocks("m", rows)]
    assert [len(block) for block in blocks] == [min(rows, len(order) - at) for at in range(0, len(order), rows)]
    np.testing.assert_array_equal(np.concatenate([np.zeros((0, 3)), *blocks]), values[order])


def test_blocks_of_a_stored_dataset(dataset):
    train = dataset.split("train")
    for modality in ("image", "text"):
        expected = train.features(modality)
        blocks = list(train.blocks(modality, 2))
        assert [block.shape[0] for block in blocks] == [2, 1]
        stack = np.concatenate if isinstance(expected, np.ndarray) else sp.vstack
        assert abs(stack(blocks) - expected).max() == 0


def test_blocks_are_refused_before_the_first_is_read(dataset):
    with pytest.raises(DataError, match=r"item 'e' has no image; ask for `having\('image'\)` first"):
        dataset.split("test").blocks("image")
    with pytest.raises(DataError, match="a block of 0 rows is none"):
        dataset.split("train").blocks("image", 0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_map_of_its_own_shows_the_same_rows(tmp_path, order):
    values = np.asarray(np.random.default_rng(0).normal(size=(7, 3)), order=order)
    np.save(tmp_path / "x.npy", values)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    again = remapped(mapped)
    assert again.base is not mapped.base
    np.testing.assert_array_equal(again, values)
    assert remapped(mapped[2:]).base is mapped  # a part of a map has no place of its own in the file
    assert remapped(values) is values
    (tmp_path / "x.npy").write_bytes(b"short")
    with pytest.raises(DataError, match=re.escape(f"{tmp_path / 'x.npy'} cannot be read")):
        remapped(mapped)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the system does not tell what is mapped")
def test_rows_that_were_read_do_not_stay_in_memory(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((40_000, 64), np.float32))
    part = whole_of(np.load(tmp_path / "x.npy", mmap_mode="r"))
    held = []
    for _ in part.blocks("m", 4_000):
        entries = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text())
        ours = [entry for entry in entries if str(tmp_path / "x.npy") in entry]
        held.append(sum(int(kib) for entry in ours for kib in re.findall(r"(?m)^Rss: +([0-9]+) kB", entry)))
    assert len(held) == 10
    assert max(held) <= 40_000 * 64 * 4 / 1024 / 10
