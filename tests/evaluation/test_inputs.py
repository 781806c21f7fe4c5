"""Normalising representations before they are compared."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from diptych._core.errors import ConfigError, DataError
from diptych.evaluation import ColumnStatistics, normalise


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(3.0, [1.0, 10.0, 0.01], size=(50, 3))


def test_none_leaves_rows_alone(rows):
    assert normalise(rows, "none") is rows


def test_eval_set_is_the_z_score(rows):
    assert normalise(rows, "eval-set") == pytest.approx(StandardScaler().fit_transform(rows), abs=1e-12)


def test_train_uses_the_training_rows_alone(rows):
    train = np.random.default_rng(1).normal(size=(30, 3))
    expected = StandardScaler().fit(train).transform(rows)
    assert normalise(rows, "train", ColumnStatistics.of(train)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -1e30])
def test_a_column_that_never_varies_becomes_zero_and_not_noise(value):
    """The mean of many 0.1s is not 0.1; the rest, divided by a deviation as small, would be of order one."""
    rows = np.full((1001, 1), value)
    assert normalise(rows, "eval-set").tolist() == [[0.0]] * 1001
    assert ColumnStatistics.of(rows).deviation.tolist() == [1.0]


def test_single_precision_is_widened_first():
    rows = np.random.default_rng(0).normal(1e4, 1.0, size=(400, 2)).astype(np.float32)
    result = normalise(rows, "eval-set")
    assert result.dtype == np.float64
    assert result.std(axis=0) == pytest.approx(1.0) and result.mean(axis=0) == pytest.approx(0.0, abs=1e-9)


def test_failures_are_named(rows):
    with pytest.raises(ConfigError, match="normalisation is 'test'; choose one of none, eval-set, train"):
        normalise(rows, "test")
    with pytest.raises(ConfigError, match="'train' needs the statistics of the training rows"):
        normalise(rows, "train")
    with pytest.raises(DataError, match="rows have 3 columns but the statistics 2"):
        normalise(rows, "train", ColumnStatistics.of(np.eye(2)))
    with pytest.raises(DataError, match="no rows to take column statistics of"):
        ColumnStatistics.of(np.zeros((0, 2)))
