import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import DataError
from diptych.data import UNLABELLED, Labels
from diptych.data.labels import read_labels

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


def labels(cells, **options):
    found = read_labels(cells, "labels.csv", **options)
    return found.names, found.classes


@pytest.mark.parametrize(
    ("cells", "names", "classes"),
    [
        (["dog", "cat", "dog"], [["dog"], ["cat"], ["dog"]], ["cat", "dog"]),
        (["10", "9", "10"], [["10"], ["9"], ["10"]], ["9", "10"]),
        ([2, 0, 1], [["2"], ["0"], ["1"]], ["0", "1", "2"]),
        ([1.0, 2.0], [["1"], ["2"]], ["1", "2"]),
        (["1.0", "1"], [["1"], ["1"]], ["1"]),
        ([None, "a", "", " ", "NaN", "null"], [[], ["a"], [], [], [], []], ["a"]),
        ([float("nan"), 3.0], [[], ["3"]], ["3"]),
        ([["a", "b"], ["b"], [], None], [["a", "b"], ["b"], [], []], ["a", "b"]),
        ([["a", "a"]], [["a"]], ["a"]),
        ([[0, 1, 1], [0, 0, 0], [1, 0, 0]], [["1", "2"], [], ["0"]], ["0", "1", "2"]),
        (["a|b"], [["a|b"]], ["a|b"]),
        (["inf", "x"], [["inf"], ["x"]], ["inf", "x"]),
    ],
)
def test_cells_become_names(cells, names, classes):
    assert labels(cells) == (names, classes)


def test_separator():
    assert labels(["a|b", "b", "", "a| c |"], separator="|") == ([["a", "b"], ["b"], [], ["a", "c"]], ["a", "b", "c"])


@pytest.mark.parametrize("missing", ["-1", "-1.0"])
@pytest.mark.parametrize("cells", [[-1, 0], ["-1", "0"], [-1.0, 0.0]])
def test_missing_label(cells, missing):
    assert labels(cells, missing=missing) == ([[], ["0"]], ["0"])
    assert labels(["unknown", "a"], missing="unknown") == ([[], ["a"]], ["a"])


@pytest.mark.parametrize("cells", [[0, -1], ["0", "-1"], ["a", -1.0]])
def test_negative_labels_are_refused(cells):
    with pytest.raises(
        DataError, match=r"labels\.csv: row 1 has the label -1.*leave it empty \(None in Python\).*--missing-label -1"
    ):
        labels(cells)
    with pytest.raises(DataError, match="label -2"):
        labels([-1, -2], missing="-1")


def test_fractions_are_refused():
    with pytest.raises(DataError, match=r"row 0 has the label 1\.5; a label must be a whole number or a name"):
        labels([1.5])


def test_numbers_count_into_given_classes():
    assert labels([0, 1, None], classes=["a", "b"]) == ([["a"], ["b"], []], ["a", "b"])
    assert labels([1, 2], classes=["a", "b"]) == ([["a"], ["b"]], ["a", "b"])
    assert labels(["b", "a"], classes=["b", "a"]) == ([["b"], ["a"]], ["b", "a"])
    assert labels(["2", "1"], classes=["1", "2"]) == ([["2"], ["1"]], ["1", "2"])
    assert labels([[1, 0], [0, 1]], classes=["a", "b"]) == ([["a"], ["b"]], ["a", "b"])


@pytest.mark.parametrize("cells", [[1, 2], [0, 3], [1, 4]])
def test_numbers_that_could_count_either_way_are_refused(cells):
    with pytest.raises(DataError, match="it cannot be told how they count the 3 classes"):
        labels(cells, classes=["a", "b", "c"])


def test_indicator_needs_a_name_for_each_column():
    with pytest.raises(DataError, match="has 2 columns of labels but 3 classes are named"):
        labels([[0, 1]], classes=["a", "b", "c"])


def test_one_number_per_item_is_a_set_of_one():
    labels = Labels.from_sets(np.array([2, 0, 1]), ("a", "b", "c"))
    assert labels.codes.tolist() == [2, 0, 1]
    assert Labels.from_codes(np.array([2, UNLABELLED, 1]), ("a", "b", "c")).codes.tolist() == [2, UNLABELLED, 1]
