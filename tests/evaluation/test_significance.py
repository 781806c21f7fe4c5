"""The sign-flip test against enumeration and SciPy, its error rate, and Holm's correction."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from diptych._core.errors import ConfigError, DataError
from diptych.evaluation import compare, holm, sign_flip_p_value


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
    monkeypatch.setattr("diptych.evaluation.significance._BLOCK_BYTES", 10_000)
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


def test_failures_are_named():
    with pytest.raises(DataError, match="one method has 2 scores and the other 3"):
        compare([0.1, 0.2], [0.1, 0.2, 0.3])
    with pytest.raises(DataError, match="each must lie between 0 and 1"):
        holm([0.5, 1.5])
    with pytest.raises(ConfigError, match="flips is 0"):
        sign_flip_p_value(np.ones(3), flips=0)
