import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import DataError
from diptych.data import UNLABELLED, Labels

CLASSES = ("a", "b", "c", "d")
label_sets = st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=12)
single_codes = st.lists(st.integers(-1, 3), max_size=12)


def shared_naively(left: list[list[int]], right: list[list[int]]) -> np.ndarray:
    table = np.zeros((len(left), len(right)), dtype=bool)
    for i, mine in enumerate(left):
        for j, theirs in enumerate(right):
            table[i, j] = bool(set(mine) & set(theirs))
    return table


@given(label_sets, label_sets)
def test_shared_with_and_counts_match_a_naive_loop(left, right):
    mine, theirs = Labels.from_sets(left, CLASSES), Labels.from_sets(right, CLASSES)
    expected = shared_naively(left, right)
    np.testing.assert_array_equal(mine.shared_with(theirs), expected)
    np.testing.assert_array_equal(mine.shared_counts(theirs), expected.sum(axis=1))


@given(single_codes, single_codes)
def test_single_labels_take_the_fast_way_to_the_same_answer(left, right):
    mine, theirs = Labels.from_codes(left, CLASSES), Labels.from_codes(right, CLASSES)
    expected = shared_naively(*([[c] if c >= 0 else [] for c in codes] for codes in (left, right)))
    np.testing.assert_array_equal(mine.shared_with(theirs), expected)
    np.testing.assert_array_equal(mine.shared_counts(theirs), expected.sum(axis=1))
    np.testing.assert_array_equal(mine.codes, left)


@given(label_sets, st.data())
def test_take_and_keep_only(sets, data):
    labels = Labels.from_sets(sets, CLASSES)
    order = data.draw(st.permutations(range(len(sets))))
    taken = labels.take(np.array(order, dtype=np.int64))
    np.testing.assert_array_equal(taken.matrix.toarray(), labels.matrix.toarray()[order])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets))), dtype=bool)
    kept = labels.keep_only(mask)
    np.testing.assert_array_equal(kept.matrix.toarray(), labels.matrix.toarray() & mask[:, None])
    np.testing.assert_array_equal(kept.is_labelled, labels.is_labelled & mask)
    np.testing.assert_array_equal(kept.class_counts(), kept.matrix.toarray().sum(axis=0))
    assert kept.classes == CLASSES


def test_withheld_labels_are_gone_not_hidden():
    kept = Labels.from_codes([0, 1, 2], CLASSES).keep_only(np.array([True, False, True]))
    assert kept.matrix.nnz == 2
    assert kept.codes.tolist() == [0, UNLABELLED, 2]
    assert kept.matrix.dtype == np.bool_


def test_codes_refuse_several_labels():
    labels = Labels.from_sets([[0], [1, 2]], CLASSES)
    assert not labels.is_single
    with pytest.raises(DataError, match="item 1 carries 2 labels"):
        _ = labels.codes


def test_a_dataset_without_classes_is_unlabelled():
    labels = Labels.from_sets([[], []], ())
    assert labels.matrix.shape == (2, 0)
    assert not labels.is_labelled.any()
    assert labels.shared_counts(labels).tolist() == [0, 0]


def test_identity_makes_partners_of_equal_names():
    labels = Labels.from_identity(["x", "y", "x"])
    np.testing.assert_array_equal(labels.shared_with(labels), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
