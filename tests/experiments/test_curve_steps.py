import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diptych._core.errors import ConfigError
from diptych.experiments.curve_results import kept_labels, places, show_count, sorted_counts


@given(st.sets(st.integers(1, 10**6), min_size=1), st.booleans(), st.randoms())
def test_counts_come_out_sorted_with_all_last_however_they_are_given(numbers, with_all, random):
    given_counts = [*(random.choice([n, str(n), f" {n} "]) for n in numbers), *["all"] * with_all]
    random.shuffle(given_counts)
    assert sorted_counts(given_counts) == (*sorted(numbers), *[None] * with_all)


@pytest.mark.parametrize("value", ["0", "-1", 0, -3, "1.5", 2.0, "", "every", "ALL", "²", "1_0", True, None])
def test_what_is_no_count_is_named(value):
    with pytest.raises(ConfigError, match=r"labels per class lists '.*'; write positive whole numbers and 'all'"):
        sorted_counts([1, value])


@pytest.mark.parametrize(("values", "twice"), [(["2", "1", 2], "2"), (["all", 1, "all"], "all"), (["01", "1"], "1")])
def test_a_count_given_twice_is_refused(values, twice):
    with pytest.raises(ConfigError, match=f"labels per class lists {twice} twice; keep each once"):
        sorted_counts(values)


def test_no_count_is_refused():
    with pytest.raises(ConfigError, match="there is no label count"):
        sorted_counts([])


def test_kept_labels_are_what_classes_really_have(counts_dataset, gaps_dataset):
    for dataset in (counts_dataset, gaps_dataset):
        train = np.flatnonzero(dataset.splits == "train")
        sizes = [dataset.labels.matrix.toarray()[train, code].sum() for code in range(len(dataset.classes))]
        for count in (1, 3, 12, 1000, None):
            naive = np.mean([size if count is None else min(count, size) for size in sizes])
            assert kept_labels(dataset, count, (0, 1)) == pytest.approx(naive)


@pytest.mark.parametrize(
    ("counts", "kept", "expected"),
    [
        ([1, 5, "all"], 217.3, [1, 5, 217.3]),
        ([1, 200, "all"], 217.3, [1, 200, 300]),
        ([1, 1000, "all"], 16, [1, 1000, 1500]),
        ([1, 5], 217.3, [1, 5]),
        (["all"], 16, [16]),
        (["all"], 0, [1]),
    ],
)
def test_all_lies_where_it_keeps_unless_that_hides_a_number(counts, kept, expected):
    assert places(counts, kept) == expected


def test_counts_are_called_as_they_are_written():
    assert [show_count(count) for count in sorted_counts(["all", 3])] == ["3", "all"]
