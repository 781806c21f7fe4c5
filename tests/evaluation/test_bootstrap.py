"""Bootstrap intervals: coverage, agreement with theory, pairing of directions."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from diptych._core.errors import ConfigError, DataError
from diptych.evaluation import average_interval, mean_interval, seed_spread
from diptych.evaluation.bootstrap import resampled_means


def width(interval):
    return interval[1] - interval[0]


@pytest.fixture
def scores():
    return np.random.default_rng(0).beta(2, 5, size=400)


def test_interval_is_close_to_theory_and_to_scipy(scores):
    low, high = mean_interval(scores, resamples=8000)
    half = 1.96 * scores.std() / np.sqrt(len(scores))
    assert (low, high) == pytest.approx((scores.mean() - half, scores.mean() + half), abs=0.05 * half)
    other = stats.bootstrap((scores,), np.mean, method="percentile", rng=np.random.default_rng(1), n_resamples=8000)
    assert (low, high) == pytest.approx(tuple(other.confidence_interval), abs=0.06 * half)


def test_intervals_cover_the_truth_about_as_often_as_promised():
    random = np.random.default_rng(3)
    draws = [mean_interval(random.beta(2, 5, size=60), resamples=400, seed=i) for i in range(400)]
    covered = np.mean([low <= 2 / 7 <= high for low, high in draws])
    assert 0.90 <= covered <= 0.98


def test_the_seed_decides(scores):
    assert mean_interval(scores, seed=4) == mean_interval(scores, seed=4) != mean_interval(scores, seed=5)
    assert width(mean_interval(scores, level=0.5)) < width(mean_interval(scores))


def test_equal_scores_have_no_spread():
    assert mean_interval(np.full(20, 0.25)) == pytest.approx((0.25, 0.25), abs=1e-15)
    assert mean_interval([0.5]) == (0.5, 0.5)


def test_seeds_are_averaged_before_queries_are_drawn(scores):
    table = scores + np.random.default_rng(1).normal(0, 0.1, size=(5, 400))
    assert mean_interval(table) == mean_interval(table.mean(axis=0))
    assert seed_spread(table) == pytest.approx(np.std([row.mean() for row in table], ddof=1))
    assert seed_spread(scores) is None and seed_spread(table[:1]) is None


def test_same_items_are_drawn_together(scores):
    """When both directions agree item by item, drawing together keeps the spread; alone it would shrink by √2."""
    ids = [f"{i}" for i in range(400)]
    alone = mean_interval(scores)
    assert average_interval(scores, scores, ids, ids) == alone
    order = np.random.default_rng(0).permutation(400)
    assert average_interval(scores, scores[order], ids, [ids[i] for i in order]) == alone
    opposite = average_interval(scores, 1 - scores, ids, ids)
    assert opposite == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize(
    "ids", [(None, None), (["a"] * 400, ["a"] * 400), ([f"{i}" for i in range(400)], [f"x{i}" for i in range(400)])]
)
def test_other_items_are_drawn_apart(scores, ids):
    apart = average_interval(scores, scores, *ids, resamples=6000)
    assert width(apart) == pytest.approx(width(mean_interval(scores, resamples=6000)) / np.sqrt(2), rel=0.06)


def test_directions_may_differ_in_length(scores):
    low, high = average_interval(scores, scores[:50], [f"{i}" for i in range(400)], [f"{i}" for i in range(50)])
    assert low < (scores.mean() + scores[:50].mean()) / 2 < high


def test_blocks_change_nothing_and_bound_the_memory(scores, monkeypatch):
    columns = np.stack([scores, scores**2], axis=1)
    whole = resampled_means(columns, resamples=50)
    monkeypatch.setattr("diptych.evaluation.bootstrap._BLOCK_BYTES", 1)
    assert resampled_means(columns, resamples=50) == pytest.approx(whole, abs=1e-14)


def test_memory_does_not_grow_with_resamples():
    values = np.random.default_rng(0).random((20_000, 1))
    tracemalloc.start()
    resampled_means(values, resamples=300)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20 < 300 * 20_000 * 16


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mean_interval([]), DataError, r"shape \(0,\)"),
        (lambda: mean_interval([0.1, np.nan]), DataError, "not finite"),
        (lambda: mean_interval(np.zeros((2, 2, 2))), DataError, "shape"),
        (lambda: mean_interval([0.1], resamples=0), ConfigError, "resamples is 0"),
        (lambda: mean_interval([0.1], level=1.0), ConfigError, "level is 1.0"),
        (lambda: average_interval([0.1], [0.2], ["a", "b"], ["a"]), DataError, "give every score its id"),
    ],
)
def test_failures_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
