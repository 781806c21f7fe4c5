"""The judge of every graph: what it notices, and what it lets pass for a reason."""

import numpy as np
import pytest

from diptych._core.errors import DataError
from diptych.export.onnx_files import Check, check_rows, moved_rows, row_differences


def singles(*rows):
    return np.array(rows, dtype=np.float32)


def test_differences_are_over_the_rows_largest_number_or_one() -> None:
    expected = singles([0.5, 0.0], [200.0, 1.0], [0.0, 0.0])
    found = singles([0.5, 0.25], [200.0, 2.0], [0.0, 0.0])
    assert row_differences(found, expected).tolist() == [0.25, 1 / 200, 0.0]


def test_what_is_not_finite_must_be_the_same() -> None:
    odd = singles([np.nan, 1.0], [np.inf, 1.0], [-np.inf, 1.0])
    assert row_differences(odd, odd).tolist() == [0.0, 0.0, 0.0]
    assert np.isinf(row_differences(odd, np.ones_like(odd))).all()
    assert np.isinf(row_differences(np.ones_like(odd), odd)).all()
    assert np.isinf(row_differences(odd[:, :1], odd)).all()


def test_a_row_on_which_the_source_moves_is_no_measure() -> None:
    expected = np.zeros((4, 2), dtype=np.float32)
    found, moved = expected.copy(), expected.copy()
    found[1], moved[1] = 0.5, 0.1
    assert Check.of(found, expected).difference == 0.5
    check = Check.of(found, expected, again=[expected, moved])
    assert (check.difference, check.unsettled, check.rows) == (0.0, 1, 4)
    check.require("it", "the model")


def test_a_source_that_is_all_noise_cannot_be_checked() -> None:
    expected = np.zeros((4, 2), dtype=np.float32)
    check = Check.of(expected, expected, again=[expected + np.float32(1)])
    with pytest.raises(DataError, match="on 4 of 4 rows of it, so that no graph can be checked"):
        check.require("it", "the model")


@pytest.mark.parametrize(("apart", "fine"), [(0.9e-5, True), (1.1e-5, False), (np.nan, False)])
def test_the_tolerance_is_one_in_a_hundred_thousand(apart, fine) -> None:
    check = Check.of(singles([apart]), singles([0.0]))
    if fine:
        check.require("it", "the model")
    else:
        with pytest.raises(DataError, match=r"graph of it differs from the model by .*, more than 1e-05"):
            check.require("it", "the model")


def test_rows_to_check_on_are_tame_and_extreme() -> None:
    counts, dense = check_rows("counts", 6), check_rows("dense", 6)
    for rows in (counts, dense):
        assert rows.dtype == np.float32
        assert (~rows.any(axis=1)).sum() >= 2
        np.testing.assert_array_equal(rows, check_rows("counts" if rows is counts else "dense", 6))
    assert (counts >= 0).all() and (counts == np.round(counts)).all() and counts.max() >= 100
    assert dense.min() < -100 and dense.max() > 100
    assert np.isclose(dense.sum(axis=1), 1.0).sum() >= 16


def test_moved_rows_are_one_step_away_and_zeros_stay() -> None:
    rows = check_rows("dense", 5)
    for moved in moved_rows(rows):
        assert moved.dtype == np.float32
        assert (moved[rows == 0] == 0).all()
        steps = np.abs(moved.view(np.int32).astype(np.int64) - rows.view(np.int32))[rows != 0]
        assert (steps == 1).all()
