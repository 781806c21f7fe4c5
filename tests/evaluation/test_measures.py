"""Average precision and chance levels against worked examples, other libraries, plain loops and permutations."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import pytrec_eval
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from torchmetrics.functional.retrieval import retrieval_average_precision

from diptych._core.errors import ConfigError
from diptych.data import Labels
from diptych.evaluation import (
    HitPositions,
    average_precision,
    average_precision_at,
    best_rank_distribution,
    chance_of_no_hit,
    expected_average_precision,
    expected_precision,
    expected_recall,
    hit_positions,
    interpolated_precision,
    mean_average_precision,
    precision_at,
    recall_at,
    recall_levels,
)

RANKED = [0, 1, 1, 0, 0, 1, 0, 1]
relevance_lists = st.lists(st.booleans(), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("k", "denominator", "expected"),
    [
        (None, "retrieved", (1 / 2 + 2 / 3 + 1 / 2 + 1 / 2) / 4),
        (None, "R", 0.541667),
        (None, "min_R_K", 0.541667),
        (5, "retrieved", 0.583333),
        (5, "R", 0.291667),
        (5, "min_R_K", 0.291667),
        (3, "retrieved", 0.583333),
        (3, "R", 0.291667),
        (3, "min_R_K", 0.388889),
        (1, "retrieved", 0.0),
        (1, "R", 0.0),
        (1, "min_R_K", 0.0),
        (100, "retrieved", 0.541667),
    ],
)
def test_worked_example(k, denominator, expected):
    assert average_precision(RANKED, k, denominator) == pytest.approx(expected, abs=5e-7)


def test_worked_example_with_similarities():
    """The table of similarities is fed as queries against the axes, whose dot products it is."""
    similarities = np.array([[0.9, 0.8, 0.1, 0.3], [0.7, 0.6, 0.2, 0.1], [0.1, 0.9, 0.8, 0.7]])
    queries, gallery = Labels.from_codes([0, 1, 0], "ab"), Labels.from_codes([0, 1, 1, 0], "ab")
    ((_, hits),) = hit_positions(similarities, np.eye(4), queries, gallery, similarity="dot")
    assert average_precision_at(hits) == pytest.approx([0.833333, 0.583333, 0.416667], abs=5e-7)
    assert average_precision_at(hits, 2) == pytest.approx([1.0, 0.5, 0.0])
    problem = similarities, np.eye(4), queries, gallery
    assert mean_average_precision(*problem, similarity="dot") == pytest.approx(0.611111, abs=5e-7)
    assert mean_average_precision(*problem, k=2, similarity="dot") == pytest.approx(0.5)


def naive_average_precision(ranked, k, denominator):
    k = len(ranked) if k is None else k
    found, total = 0, 0.0
    for rank, relevant in enumerate(ranked[:k], start=1):
        if relevant:
            found += 1
            total += found / rank
    below = {"retrieved": found, "R": sum(ranked), "min_R_K": min(sum(ranked), k)}[denominator]
    return total / below if below else 0.0


@given(relevance_lists, st.one_of(st.none(), st.integers(1, 40)), st.sampled_from(["retrieved", "R", "min_R_K"]))
@settings(deadline=None)
def test_average_precision_is_the_loop(ranked, k, denominator):
    k = None if k is None else min(k, len(ranked))
    assert average_precision(ranked, k, denominator) == pytest.approx(naive_average_precision(ranked, k, denominator))


@given(relevance_lists, st.integers(1, 40))
@settings(deadline=None)
def test_precision_and_recall_are_the_loop(ranked, k):
    hits = HitPositions.from_ranked_relevance(np.array([ranked]))
    assert precision_at(hits, k)[0] == pytest.approx(sum(ranked[:k]) / k)
    assert recall_at(hits, k)[0] == pytest.approx(sum(ranked[:k]) / sum(ranked) if any(ranked) else 0.0)


@given(relevance_lists, st.sampled_from([2, 11, 101]))
@settings(deadline=None)
def test_interpolated_precision_is_the_loop(ranked, points):
    found = np.cumsum(ranked)
    steps = [(int(found[j]), float(found[j] / (j + 1))) for j in range(len(ranked))]
    total = sum(ranked)
    expected = [
        max((precision for hits, precision in steps if hits * (points - 1) >= level * total), default=0.0)
        if total
        else 0.0
        for level in range(points)
    ]
    curve = interpolated_precision(HitPositions.from_ranked_relevance(np.array([ranked])), points)
    assert curve[0] == pytest.approx(expected)
    assert (np.diff(curve[0]) <= 1e-15).all()


@pytest.fixture(scope="module")
def problem():
    random = np.random.default_rng(3)
    codes = random.permutation(np.repeat(np.arange(10), 20))  # 20 each: recall levels of 11 points are whole hits
    labels = Labels.from_codes(codes, "abcdefghij")
    queries, gallery = random.normal(size=(200, 8)), random.normal(size=(200, 8))
    similarities = queries @ gallery.T
    chunks = [hits for _, hits in hit_positions(queries, gallery, labels, labels, similarity="dot")]
    return similarities, codes[:, None] == codes[None, :], chunks


def test_sklearn_agrees(problem):
    similarities, relevant, chunks = problem
    oracle = [average_precision_score(r, s) for r, s in zip(relevant, similarities, strict=True)]
    assert np.concatenate([average_precision_at(hits) for hits in chunks]) == pytest.approx(oracle, abs=1e-12)


@pytest.mark.parametrize("k", [None, 1, 7, 50])
def test_torchmetrics_agrees(problem, k):
    """It drops relevant items whose score is not positive, so it is fed the sigmoid of the similarity."""
    similarities, relevant, chunks = problem
    oracle = [
        float(retrieval_average_precision(torch.sigmoid(torch.tensor(s)), torch.tensor(r), top_k=k))
        for r, s in zip(relevant, similarities, strict=True)
    ]
    assert np.concatenate([average_precision_at(hits, k) for hits in chunks]) == pytest.approx(oracle, abs=1e-6)


def test_trec_eval_agrees(problem):
    similarities, relevant, chunks = problem
    names = [f"{j:04d}" for j in range(200)]
    wanted = {f"{i}": {n: int(r) for n, r in zip(names, row, strict=True)} for i, row in enumerate(relevant)}
    run = {f"{i}": dict(zip(names, row.tolist(), strict=True)) for i, row in enumerate(similarities)}
    levels = [f"iprec_at_recall_{level:.2f}" for level in recall_levels()]
    evaluator = pytrec_eval.RelevanceEvaluator(
        wanted, {"map", "P_5,50", "recall_5,50", "map_cut_50", "iprec_at_recall"}
    )
    judged = evaluator.evaluate(run)
    rows = [judged[f"{i}"] for i in range(200)]

    def ours(measure, *arguments):
        return np.concatenate([measure(hits, *arguments) for hits in chunks])

    for name, values in {
        "map": ours(average_precision_at),
        "map_cut_50": ours(average_precision_at, 50, "R"),
        "P_5": ours(precision_at, 5),
        "P_50": ours(precision_at, 50),
        "recall_5": ours(recall_at, 5),
        "recall_50": ours(recall_at, 50),
    }.items():
        assert values == pytest.approx([row[name] for row in rows], abs=1e-9), name
    assert ours(interpolated_precision) == pytest.approx(np.array([[row[n] for n in levels] for row in rows]), abs=1e-9)


@pytest.mark.parametrize("denominator", ["retrieved", "R", "min_R_K"])
def test_a_query_without_relevant_items_scores_zero(denominator):
    hits = HitPositions.from_ranked_relevance(np.zeros((3, 5), dtype=bool))
    for scores in (average_precision_at(hits, None, denominator), recall_at(hits, 2), precision_at(hits, 2)):
        assert scores.tolist() == [0.0, 0.0, 0.0]
    assert not interpolated_precision(hits).any()


def test_rows_of_different_length_do_not_disturb_each_other():
    table = np.random.default_rng(0).random((40, 25)) < np.linspace(0, 1, 40)[:, None]
    together = HitPositions.from_ranked_relevance(table)
    for k in (None, 3, 25):
        alone = [average_precision(row, k) for row in table]
        assert average_precision_at(together, k) == pytest.approx(alone, abs=1e-15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: average_precision(RANKED, 0), "cut at 0; a cut must be at least 1"),
        (lambda: average_precision(RANKED, 3, "hits"), "denominator is 'hits'; choose one of retrieved, R, min_R_K"),
        (lambda: precision_at(HitPositions.from_ranked_relevance(np.ones((1, 2), dtype=bool)), -1), "cut at -1"),
        (
            lambda: interpolated_precision(HitPositions.from_ranked_relevance(np.ones((1, 2), dtype=bool)), 1),
            "1 points",
        ),
    ],
)
def test_bad_options_are_named(call, message):
    with pytest.raises(ConfigError, match=message):
        call()


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
