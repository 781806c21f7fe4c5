"""The evaluator against loops, its invariances, what it leaves out and what it writes down."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from diptych._core.errors import ConfigError, DataError
from diptych.data import Labels
from diptych.evaluation import average_directions, evaluate_direction, mean_average_precision

CLASSES = tuple("abcde")


def problem(seed=0, queries=30, items=60, several=False):
    random = np.random.default_rng(seed)

    def draw(count):
        chosen = [random.choice(5, size=1 + several * random.integers(3), replace=False) for _ in range(count)]
        return Labels.from_sets([row.tolist() for row in chosen], CLASSES)

    return random.normal(size=(queries, 6)), random.normal(size=(items, 6)), draw(queries), draw(items)


def relevance(query_labels, gallery_labels):
    return (query_labels.matrix.toarray().astype(int) @ gallery_labels.matrix.toarray().astype(int).T) > 0


def cosines(queries, gallery):
    return np.array([[q @ g / np.linalg.norm(q) / np.linalg.norm(g) for g in gallery] for q in queries])


@pytest.mark.parametrize("several", [False, True])
def test_scores_are_those_of_loops(several):
    data = problem(several=several)
    scores = evaluate_direction(*data)
    similar, relevant = cosines(*data[:2]), relevance(*data[2:])
    for i in range(30):
        ranked = relevant[i][np.argsort(-similar[i])]
        assert scores.scores["map"][i] == pytest.approx(average_precision_score(relevant[i], similar[i]))
        assert scores.scores["map@50"][i] == pytest.approx(average_precision_score(ranked[:50], -np.arange(50)))
        for k in (1, 5, 10, 50):
            assert scores.scores[f"precision@{k}"][i] == pytest.approx(ranked[:k].mean())
            assert scores.scores[f"recall@{k}"][i] == pytest.approx(ranked[:k].sum() / ranked.sum())
    assert scores.mean() == mean_average_precision(*data)
    assert scores.mean("map@50") == mean_average_precision(*data, k=50)


def test_invariances():
    """Order of the gallery, lengths of rows and a common rotation mean nothing; duplicating every query neither."""
    queries, gallery, query_labels, gallery_labels = problem(1)
    random = np.random.default_rng(2)
    base = evaluate_direction(queries, gallery, query_labels, gallery_labels).scores["map"]

    def again(queries, gallery, query_labels, gallery_labels):
        return evaluate_direction(queries, gallery, query_labels, gallery_labels).scores["map"]

    order = random.permutation(60)
    assert again(queries, gallery[order], query_labels, gallery_labels.take(order)) == pytest.approx(base)
    lengths = random.uniform(0.1, 50, size=(60, 1))
    assert again(queries * 7, gallery * lengths, query_labels, gallery_labels) == pytest.approx(base)
    rotation = np.linalg.qr(random.normal(size=(6, 6)))[0]
    assert again(queries @ rotation, gallery @ rotation, query_labels, gallery_labels) == pytest.approx(base)
    twice = np.tile(np.arange(30), 2)
    assert again(queries[twice], gallery, query_labels.take(twice), gallery_labels) == pytest.approx(base[twice])


@given(st.integers(0, 10_000))
@settings(deadline=None, max_examples=25)
def test_scores_lie_between_zero_and_one_and_recall_rises(seed):
    scores = evaluate_direction(*problem(seed, 5, 12, several=True))
    assert all((values >= 0).all() and (values <= 1).all() for values in scores.scores.values())
    assert (scores.scores["recall@1"] <= scores.scores["recall@5"]).all()
    assert (np.diff(scores.curve_precision) <= 1e-12).all()


def test_perfect_retrieval_scores_one():
    labels = Labels.from_codes([0, 1, 2, 3, 4] * 4, CLASSES)
    rows = np.tile(np.eye(5), (4, 1))
    scores = evaluate_direction(rows, rows, labels, labels, ranks=(1, 4))
    assert [scores.mean(name) for name in ("map", "map@50", "precision@4", "recall@4")] == [1.0] * 4
    assert scores.curve_precision.tolist() == [1.0] * 11


def test_random_rows_score_at_the_chance_level_reported():
    results = [evaluate_direction(*problem(seed, 100, 80)) for seed in range(30)]
    for name in ("map", "map@50", "precision@5", "recall@10"):
        scored = np.array([r.mean(name) for r in results])
        expected = np.mean([r.chance[name] for r in results])
        assert abs(scored.mean() - expected) < 5 * scored.std() / np.sqrt(len(scored)), name


def test_unlabelled_items_are_left_out_and_counted():
    queries, gallery, query_labels, gallery_labels = problem(3)
    asked, listed = np.arange(30) % 3 != 0, np.arange(60) % 4 != 1
    partly = evaluate_direction(
        queries,
        gallery,
        query_labels.keep_only(asked),
        gallery_labels.keep_only(listed),
        query_ids=[f"q{i}" for i in range(30)],
    )
    alone = evaluate_direction(queries[asked], gallery[listed], query_labels.take(asked), gallery_labels.take(listed))
    assert partly.scores["map"].tolist() == alone.scores["map"].tolist()
    assert partly.query_rows.tolist() == np.flatnonzero(asked).tolist()
    assert partly.query_ids == tuple(f"q{i}" for i in np.flatnonzero(asked))
    assert (partly.queries, partly.gallery_size) == (20, 45)
    assert (partly.dropped_queries, partly.dropped_gallery) == (10, 15)
    assert (alone.dropped_queries, alone.dropped_gallery) == (0, 0)


def test_a_bad_row_is_named_by_its_place_in_what_was_handed_in():
    queries, gallery, query_labels, gallery_labels = problem()
    queries[20, 0] = np.nan
    with pytest.raises(DataError, match="row 20 of queries"):
        evaluate_direction(queries, gallery, query_labels.keep_only(np.arange(30) > 10), gallery_labels)


def test_queries_without_relevant_items_count_as_zero():
    labels, others = Labels.from_codes([0, 1, 2], CLASSES), Labels.from_codes([0, 0, 1], CLASSES)
    scores = evaluate_direction(np.eye(3), np.eye(3), labels, others)
    assert scores.queries_without_relevant == 1
    assert scores.scores["map"][2] == 0.0
    assert scores.mean() == pytest.approx(scores.scores["map"][:2].sum() / 3)


def test_failures_are_named():
    queries, gallery, query_labels, gallery_labels = problem()
    nothing = query_labels.keep_only(np.zeros(30, dtype=bool))
    with pytest.raises(DataError, match="none of the 30 queries has a label"):
        evaluate_direction(queries, gallery, nothing, gallery_labels)
    with pytest.raises(DataError, match="none of the 60 gallery items has a label"):
        mean_average_precision(queries, gallery, query_labels, gallery_labels.keep_only(np.zeros(60, dtype=bool)))
    with pytest.raises(DataError, match="none of the 0 queries has a label"):
        evaluate_direction(queries[:0], gallery, query_labels.take(np.arange(0)), gallery_labels)
    with pytest.raises(DataError, match="30 queries but 2 query ids"):
        evaluate_direction(queries, gallery, query_labels, gallery_labels, query_ids=["a", "b"])
    with pytest.raises(ConfigError, match="cut at 0"):
        mean_average_precision(queries, gallery, query_labels, gallery_labels, k=0)
    with pytest.raises(ConfigError, match="denominator is 'all'"):
        evaluate_direction(queries, gallery, query_labels, gallery_labels, denominator="all")


def test_json_holds_means_intervals_chance_and_counts():
    scores = evaluate_direction(*problem(), cuts=(5, 50), ranks=(1, 5), curve_points=101)
    result = json.loads(json.dumps(scores.to_json(resamples=300), allow_nan=False))
    for name in ("map", "map@5", "map@50", "precision@1", "recall@5"):
        low, high = result[f"{name}_ci95"]
        assert low <= result[name] == scores.mean(name) <= high
        assert 0 <= result["chance"][name] <= 1
    assert (result["queries"], result["gallery"]) == (30, 60)
    assert len(result["curve"]["recall"]) == len(result["curve"]["precision"]) == 101
    assert result["ap_denominator"] == "retrieved" and result["similarity"] == "cosine"
    assert result == json.loads(json.dumps(scores.to_json(resamples=300)))


def test_average_of_two_directions():
    queries, gallery, query_labels, gallery_labels = problem(4, 40, 40)
    ids = [f"item{i}" for i in range(40)]
    forth = evaluate_direction(queries, gallery, query_labels, gallery_labels, query_ids=ids)
    back = evaluate_direction(gallery, queries, gallery_labels, query_labels, query_ids=ids)
    average = average_directions(forth, back, resamples=300)
    assert set(average) == {"map", "map_ci95", "map@50", "map@50_ci95", "chance"}
    assert average["map"] == pytest.approx((forth.mean() + back.mean()) / 2)
    assert average["map_ci95"][0] < average["map"] < average["map_ci95"][1]
    assert average["chance"]["map"] == pytest.approx((forth.chance["map"] + back.chance["map"]) / 2)
