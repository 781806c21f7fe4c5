"""Instance retrieval against a plain loop, with several captions per picture."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError, DataError
from diptych.evaluation import evaluate_instances


def best_ranks(queries, gallery, query_documents, gallery_documents):
    ranks = []
    for query, document in zip(queries, query_documents, strict=True):
        cosines = [query @ g / (np.linalg.norm(query) * np.linalg.norm(g)) for g in gallery]
        order = sorted(range(len(gallery)), key=lambda j: -cosines[j])
        partners = [rank for rank, j in enumerate(order, start=1) if gallery_documents[j] == document]
        ranks.append(min(partners) if partners else None)
    return ranks


@pytest.fixture
def captions():
    """20 pictures with 1 to 5 captions each, two pictures without any, and captions of unknown pictures."""
    random = np.random.default_rng(0)
    pictures = [f"p{i}" for i in range(22)]
    texts = [f"p{i}" for i in range(20) for _ in range(1 + i % 5)] + ["stray"] * 4
    of_picture = {name: random.normal(size=6) for name in [*pictures, "stray"]}
    images = np.array([of_picture[name] + random.normal(size=6) for name in pictures])
    words = np.array([of_picture[name] + random.normal(size=6) for name in texts])
    return images, words, pictures, texts


@pytest.mark.parametrize("reverse", [False, True])
def test_ranks_are_those_of_the_loop(captions, reverse):
    images, words, pictures, texts = captions
    problem = (words, images, texts, pictures) if reverse else captions
    expected = best_ranks(*problem)
    known = np.array([rank for rank in expected if rank is not None])
    scores = evaluate_instances(*problem)
    assert scores.ranks.tolist() == known.tolist()
    assert scores.query_rows.tolist() == [i for i, rank in enumerate(expected) if rank is not None]
    assert scores.queries_without_partner == (4 if reverse else 2)
    assert [scores.recall(k) for k in (1, 5, 10)] == [np.mean(known <= k) for k in (1, 5, 10)]
    assert scores.median_rank == np.median(known)
    assert scores.mean_reciprocal_rank == pytest.approx(np.mean(1 / known))
    assert scores.gallery_size == len(problem[1])


def test_perfect_and_worst():
    names = list("abcdefgh")
    assert evaluate_instances(np.eye(8), np.eye(8), names, names).recall(1) == 1.0
    worst = evaluate_instances(np.eye(8), -np.eye(8), names, names)
    assert worst.median_rank == 8 and worst.recall(7) == 0.0


def test_chance_is_what_random_rows_score(captions):
    """One partner among n: recall@k is k/n, the mean reciprocal rank H_n/n, the median rank n/2."""
    names = [f"{i}" for i in range(40)]
    chance = evaluate_instances(np.eye(40), np.eye(40), names, names).chance
    assert chance["recall@5"] == pytest.approx(5 / 40)
    assert chance["mean_reciprocal_rank"] == pytest.approx(sum(1 / j for j in range(1, 41)) / 40)
    assert chance["median_rank"] == 20
    images, words, pictures, texts = captions
    random = np.random.default_rng(1)
    simulated = [
        evaluate_instances(random.normal(size=images.shape), random.normal(size=words.shape), pictures, texts)
        for _ in range(150)
    ]
    expected = simulated[0].chance
    assert np.mean([s.recall(5) for s in simulated]) == pytest.approx(expected["recall@5"], abs=0.03)
    assert np.mean([s.mean_reciprocal_rank for s in simulated]) == pytest.approx(
        expected["mean_reciprocal_rank"], abs=0.03
    )


def test_a_small_gallery_has_fewer_ranks_than_asked_for():
    scores = evaluate_instances(np.eye(2), np.eye(2), ["a", "b"], ["a", "b"], ranks=(1, 10))
    assert scores.chance["recall@10"] == 1.0 and scores.recall(10) == 1.0


def test_failures_are_named():
    with pytest.raises(DataError, match="no query has a partner in the gallery"):
        evaluate_instances(np.eye(2), np.eye(2), ["a", "b"], ["c", "d"])
    with pytest.raises(DataError, match="queries has 2 rows but 1 labels"):
        evaluate_instances(np.eye(2), np.eye(2), ["a"], ["a", "b"])
    with pytest.raises(ConfigError, match=r"ranks are \[0\]"):
        evaluate_instances(np.eye(2), np.eye(2), ["a", "b"], ["a", "b"], ranks=(0,))
