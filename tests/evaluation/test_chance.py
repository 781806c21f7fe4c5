"""Chance levels against every permutation of small galleries, simulation, and reference values."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from diptych.evaluation import (
    HitPositions,
    average_precision,
    average_precision_at,
    best_rank_distribution,
    chance_of_no_hit,
    expected_average_precision,
    expected_precision,
    expected_recall,
)

WIKIPEDIA = np.array([34, 88, 96, 85, 65, 58, 51, 41, 71, 104])
"""How many of the 693 standard test documents each class has."""


def every_list(n, relevant):
    """All placements of the relevant items, each as likely as the next under a random ranking."""
    for places in combinations(range(n), relevant):
        yield [j in places for j in range(n)]


@pytest.mark.parametrize("denominator", ["retrieved", "R", "min_R_K"])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_expected_average_precision_is_the_mean_over_all_rankings(n, denominator):
    for relevant in range(n + 1):
        for k in [None, *range(1, n + 2)]:
            lists = [average_precision(ranked, k, denominator) for ranked in every_list(n, relevant)]
            expected = expected_average_precision(np.array([relevant]), n, k, denominator)
            assert expected == pytest.approx([np.mean(lists)], abs=1e-12), (relevant, k)


@pytest.mark.parametrize("n", [1, 5, 8])
def test_the_other_expectations_are_means_over_all_rankings(n):
    for relevant in range(n + 1):
        lists = np.array(list(every_list(n, relevant)))
        for k in range(1, n + 1):
            found = lists[:, :k].sum(axis=1)
            one = np.array([relevant])
            assert expected_precision(one, n, k) == pytest.approx([(found / k).mean()])
            assert expected_recall(one, n, k) == pytest.approx([found.mean() / relevant if relevant else 0.0])
            assert chance_of_no_hit(one, n, k) == pytest.approx([(found == 0).mean()], abs=1e-12)
            assert best_rank_distribution(one, n)[k - 1] == pytest.approx((found > 0).mean(), abs=1e-12)


def test_the_closed_form_over_the_whole_gallery():
    n, relevant = 50, 7
    harmonic = sum(Fraction(1, j) for j in range(1, n + 1))
    exact = (harmonic + Fraction(relevant - 1, n - 1) * (n - harmonic)) / n
    assert expected_average_precision(np.array([relevant]), n) == pytest.approx([float(exact)], abs=1e-13)


def test_queries_are_averaged_by_their_own_number_of_relevant_items():
    together = best_rank_distribution(np.array([1, 3, 3]), 9)
    alone = [best_rank_distribution(np.array([r]), 9) for r in (1, 3, 3)]
    assert together == pytest.approx(np.mean(alone, axis=0))


@pytest.mark.parametrize("k", [1, 10, 50, None])
@pytest.mark.parametrize("denominator", ["retrieved", "R", "min_R_K"])
def test_simulated_rankings_agree(k, denominator):
    random = np.random.default_rng(5)
    ranked = random.permuted(np.tile(np.arange(120) < 17, (20_000, 1)), axis=1)
    scores = average_precision_at(HitPositions.from_ranked_relevance(ranked), k, denominator)
    expected = expected_average_precision(np.array([17]), 120, k, denominator)[0]
    assert abs(scores.mean() - expected) < 4.5 * scores.std() / np.sqrt(len(scores))


def test_a_gallery_like_the_wikipedia_test_set_has_the_known_chance_level():
    """462 items drawn from these classes; the published CCA row (0.122 / 0.177) sits at this level."""
    sizes = np.round(WIKIPEDIA * 462 / WIKIPEDIA.sum()).astype(int)
    relevant, n = np.repeat(sizes, sizes), int(sizes.sum())
    assert expected_average_precision(relevant, n).mean() == pytest.approx(0.122, abs=1.5e-3)
    assert expected_average_precision(relevant, n, 50).mean() == pytest.approx(0.174, abs=1.5e-3)
    assert expected_average_precision(relevant, n, 50, "R").mean() == pytest.approx(0.020, abs=1e-3)
    assert expected_average_precision(relevant, n, 50, "min_R_K").mean() == pytest.approx(0.024, abs=1e-3)


def test_a_balanced_gallery_of_a_thousand_has_the_known_chance_level():
    relevant = np.full(1000, 100)
    assert expected_average_precision(relevant, 1000).mean() == pytest.approx(0.106, abs=6e-4)
    assert expected_average_precision(relevant, 1000, 50).mean() == pytest.approx(0.164, abs=6e-4)


def test_large_galleries_stay_accurate():
    odds = chance_of_no_hit(np.array([1, 1000]), 10**6, 10)
    assert odds == pytest.approx([1 - 1e-5, np.prod(1 - 1000 / (10**6 - np.arange(10)))], abs=1e-8)
