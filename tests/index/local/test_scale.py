"""Some thousands of clustered vectors: the graph finds what exact search finds, and filters keep their promise."""

import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index, open_index
from diptych.index.local import neighbours

DIMENSION, COUNT = 16, 3_000


def clustered(count, *purpose):
    rng = generator(0, "scale", *purpose)
    centres = generator(0, "scale", "centres").normal(size=(40, DIMENSION))
    rows = centres[rng.integers(0, 40, count)] + 0.5 * rng.normal(size=(count, DIMENSION))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


VECTORS = clustered(COUNT, "items")
QUERIES = clustered(60, "queries")
IDS = np.array([f"{n:05d}" for n in range(COUNT)])
NUMBERS = np.arange(COUNT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything in a graph; the tests that change it take a snapshot."""
    place = tmp_path_factory.mktemp("scale") / "index"
    with create_index(place, Identity(EmbedderId("m"), DIMENSION), exact_below=1000, fold_at=500) as index:
        for start in range(0, COUNT, 800):
            part = slice(start, start + 800)
            known = [{"n": int(n), "third": int(n) % 3, "rare": int(n) % 400} for n in NUMBERS[part]]
            index.add(IDS[part].tolist(), VECTORS[part], modality="image", metadata=known)
        index.optimise()
    return place


@pytest.fixture
def few_is_little(monkeypatch):
    """Let choices of a few hundred count as large, so that the graph itself is asked with a filter."""
    monkeypatch.setattr(neighbours, "_SELECTIVE_COUNT", 50)


def truth(query, allowed, k):
    scores = VECTORS.astype(np.float64) @ query
    order = np.lexsort((IDS, -scores))
    return [str(id) for id in IDS[order[allowed[order]]][:k]]


def recall(found, allowed, k):
    hits = [len(set(f.ids) & set(truth(q, allowed, k))) for f, q in zip(found, QUERIES, strict=True)]
    return sum(hits) / (k * len(found))


def test_a_graph_is_used_and_finds_nearly_everything(folder):
    with open_index(folder) as index:
        (segment,) = index._view.get().partitions["image"]
        assert segment.graph is not None
        assert len(segment) == COUNT
        found = index.search(QUERIES, 10)
        assert recall(found, np.ones(COUNT, bool), 10) > 0.98
        for query, answer in zip(QUERIES, found, strict=True):
            exact = VECTORS[[int(id) for id in answer.ids]].astype(np.float64) @ query
            np.testing.assert_allclose(answer.scores, exact, atol=1e-6)


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        ("third = 1", NUMBERS % 3 == 1),
        ("n < 2900", NUMBERS < 2900),
        ("rare = 7", NUMBERS % 400 == 7),
        ("n in (5, 6, 7)", np.isin(NUMBERS, (5, 6, 7))),
        ("n < 0", NUMBERS < 0),
    ],
)
@pytest.mark.parametrize("k", [1, 10, 300])
@pytest.mark.parametrize("best_first", [False, True])
def test_k_come_back_whenever_k_exist(folder, where, allowed, k, best_first, few_is_little, monkeypatch):
    if best_first:
        monkeypatch.setattr(neighbours, "_FEW", 10)
        monkeypatch.setattr(neighbours, "_MOST_RESULTS", 10**6)
    with open_index(folder) as index:
        found = index.search(QUERIES, k, where=where)
        if best_first and k == 10:
            asked_of_all = bool(index._view.last._chosen)
            assert asked_of_all == (allowed.sum() < COUNT / 4), "many fit: only the best were asked about"
    assert {len(answer) for answer in found} == {min(k, int(allowed.sum()))}
    for answer in found:
        assert allowed[[int(id) for id in answer.ids]].all()
    if allowed.any():
        assert recall(found, allowed, min(k, int(allowed.sum()))) > 0.97


def test_selective_filters_are_exact(folder):
    allowed = NUMBERS % 400 == 7
    with open_index(folder) as index:
        for answer, query in zip(index.search(QUERIES, 8, where="rare = 7"), QUERIES, strict=True):
            assert list(answer.ids) == truth(query, allowed, 8)


def test_best_first_is_exact_where_search_is(tmp_path, monkeypatch):
    monkeypatch.setattr(neighbours, "_FEW", 10)
    allowed = NUMBERS[:300] % 3 > 0
    with create_index(tmp_path / "index", Identity(EmbedderId("m"), DIMENSION), structure="flat") as index:
        vectors = np.repeat(VECTORS[:100], 3, axis=0)  # ties within and beyond what fits
        index.add(IDS[:300].tolist(), vectors, modality="image", metadata=[{"n": n % 3} for n in range(300)])
        for query in QUERIES[:8]:
            (found,) = index.search(query, 7, where="n > 0", offset=2)
            assert not index._view.last._chosen
            scores = vectors.astype(np.float64) @ query
            order = np.lexsort((IDS[:300], -scores.round(6)))
            assert list(found.ids) == IDS[:300][order[allowed[order]]][2:9].tolist()


def test_a_filter_far_from_the_query_still_gives_k(folder, few_is_little):
    """The nearest of those that fit lie where the graph's walk never comes."""
    query = QUERIES[0]
    far = np.argsort(VECTORS @ query)[:100]
    listed = ", ".join(str(n) for n in far)
    with open_index(folder) as index:
        (found,) = index.search(query, 10, where=f"n in ({listed})")
    assert list(found.ids) == truth(query, np.isin(NUMBERS, far), 10)


def test_deletes_and_updates_beside_a_graph(folder, tmp_path):
    with open_index(folder) as original:
        copy = original.snapshot(tmp_path / "copy")
    with open_index(copy, auto_fold=False) as index:
        best = sorted({id for answer in index.search(QUERIES, 10) for id in answer.ids})
        index.delete(best)
        alive = ~np.isin(IDS, best)
        index.update(["twin"], QUERIES[:1], modality="image")
        for folded in (False, True, True):
            found = index.search(QUERIES[1:], 10)
            assert not {id for answer in found for id in answer.ids} & set(best)
            hits = [
                len(set(f.ids) - {"twin"} & set(truth(q, alive, 10))) for f, q in zip(found, QUERIES[1:], strict=True)
            ]
            assert sum(hits) / len(hits) > 9.5
            assert index.search(QUERIES[0], 1)[0].ids == ("twin",)
            if not folded:
                index.optimise()


def test_a_graph_grows_and_is_built_anew(tmp_path):
    options = {"structure": "hnsw", "fold_at": 10**6}
    with create_index(tmp_path / "index", Identity(EmbedderId("m"), DIMENSION), **options) as index:
        for start, stop, trained_on in ((0, 1000, 1000), (1000, 1800, 1000), (1800, 2500, 2500)):
            index.add(IDS[start:stop].tolist(), VECTORS[start:stop], modality="image")
            index.optimise()
            (segment,) = index._view.get().partitions["image"]
            assert (len(segment), segment.graph.trained_on) == (stop, trained_on)
        index.delete(IDS[:100].tolist())
        index.optimise()
        (segment,) = index._view.get().partitions["image"]
        assert (len(segment), segment.living) == (2500, 2400), "a few dead keep their places"
        index.delete(IDS[100:900].tolist())
        index.optimise()
        (segment,) = index._view.get().partitions["image"]
        assert (len(segment), segment.dead) == (1600, None), "many dead do not"
        left = np.isin(NUMBERS, np.arange(900, 2500))
        assert recall(index.search(QUERIES, 10), left, 10) > 0.98
