"""Bootstrap intervals against theory; the sign-flip test against enumeration and SciPy; Holm's correction."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from scipy import stats

from diptych._core.errors import ConfigError, DataError
from diptych.evaluation import average_interval, compare, holm, mean_interval, seed_spread, sign_flip_p_value
from diptych.evaluation.statistics import resampled_means


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
    monkeypatch.setattr("diptych.evaluation.statistics._BLOCK_BYTES", 1)
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
def test_failures_of_intervals_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def enumerated(differences):
    sums = [abs(np.dot(signs, differences)) for signs in product([-1, 1], repeat=len(differences))]
    return np.mean(np.array(sums) >= abs(np.sum(differences)) - 1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 12])
def test_few_differences_are_enumerated(n):
    differences = np.random.default_rng(n).normal(0.3, 1.0, size=n)
    assert sign_flip_p_value(differences) == enumerated(differences)


def test_scipy_agrees():
    differences = np.random.default_rng(0).normal(0.4, 1.0, size=10)
    other = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", vectorized=False, n_resamples=np.inf
    )
    assert sign_flip_p_value(differences) == pytest.approx(other.pvalue)


def test_random_flips_come_close_to_enumeration():
    differences = np.random.default_rng(1).normal(0.35, 1.0, size=15)
    assert sign_flip_p_value(differences, flips=40_000) == pytest.approx(enumerated(differences), abs=0.012)


def test_many_differences_come_close_to_the_t_test():
    differences = np.random.default_rng(2).normal(0.1, 1.0, size=500)
    assert sign_flip_p_value(differences, flips=20_000) == pytest.approx(
        stats.ttest_1samp(differences, 0).pvalue, abs=0.01
    )


def test_equal_methods_are_not_told_apart():
    scores = np.random.default_rng(0).random(200)
    same = compare(scores, scores)
    assert (same.difference, same.interval, same.p_value, same.queries) == (0.0, (0.0, 0.0), 1.0, 200)


def test_zero_differences_do_not_matter():
    differences = np.array([0.2, 0.1, -0.05, 0.3])
    assert sign_flip_p_value(np.concatenate([differences, np.zeros(1000)])) == enumerated(differences)


def test_p_is_never_zero():
    assert sign_flip_p_value(np.full(1000, 0.1), flips=99) == 1 / 100


def test_the_error_rate_is_as_promised():
    random = np.random.default_rng(5)
    rejected = [sign_flip_p_value(random.normal(size=30), flips=199, seed=i) <= 0.05 for i in range(800)]
    assert 0.03 <= np.mean(rejected) <= 0.075


def test_a_real_difference_is_found_and_is_antisymmetric():
    random = np.random.default_rng(6)
    second = random.random(300)
    first = second + random.normal(0.05, 0.1, size=300)
    better, worse = compare(first, second), compare(second, first)
    assert better.p_value < 0.001 and better.interval[0] > 0
    assert worse.difference == -better.difference and worse.p_value == better.p_value
    assert better.to_json()["difference_ci95"] == list(better.interval)


def test_seeds_are_averaged_per_query_first():
    random = np.random.default_rng(7)
    first, second = random.random((3, 80)), random.random((5, 80))
    assert compare(first, second) == compare(first.mean(axis=0), second.mean(axis=0))


def test_blocks_change_little(monkeypatch):
    differences = np.random.default_rng(8).normal(0.1, 1.0, size=100)
    whole = sign_flip_p_value(differences, flips=5000)
    monkeypatch.setattr("diptych.evaluation.statistics._BLOCK_BYTES", 10_000)
    assert sign_flip_p_value(differences, flips=5000) == pytest.approx(whole, abs=0.02)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02] and holm([]) == []


def test_holm_rejects_what_stepping_down_rejects():
    random = np.random.default_rng(9)
    for _ in range(50):
        p = random.random(6) ** 3
        rejected = set()
        for step, i in enumerate(np.argsort(p)):
            if p[i] > 0.05 / (6 - step):
                break
            rejected.add(int(i))
        assert {i for i, corrected in enumerate(holm(p.tolist())) if corrected <= 0.05} == rejected


def test_failures_of_tests_are_named():
    with pytest.raises(DataError, match="one method has 2 scores and the other 3"):
        compare([0.1, 0.2], [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="each must lie between 0 and 1"):
        holm([0.5, 1.5])
    with pytest.raises(ConfigError, match="flips is 0"):
        sign_flip_p_value(np.ones(3), flips=0)
