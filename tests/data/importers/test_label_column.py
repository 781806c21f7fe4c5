import pytest

from diptych._core.errors import DataError
from diptych.data.importers.label_column import read_labels


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
    with pytest.raises(DataError, match=r"labels\.csv: row 1 has the label -1.*leave it empty.*missing_label=-1"):
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
