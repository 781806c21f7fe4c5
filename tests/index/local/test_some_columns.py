"""Queries that look at some of the columns: a graph of whole vectors does not lead there, comparing with all does."""

import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych.index import EmbedderId, Identity, create_index

COUNT, FIRST, LAST, WEIGHT = 4_000, 8, 24, 0.4


@pytest.fixture(scope="module")
def vectors():
    """A part of length 1 and one of length 0.4, drawn apart."""
    random = generator(0, "two parts")
    parts = [random.normal(size=(COUNT + 20, width)) for width in (FIRST, LAST)]
    parts = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
    return np.hstack([parts[0], WEIGHT * parts[1]]).astype(np.float32)


@pytest.fixture(scope="module")
def index(vectors, tmp_path_factory):
    place = tmp_path_factory.mktemp("columns") / "index"
    with create_index(place, Identity(EmbedderId("m"), FIRST + LAST), structure="hnsw", ef_search=16) as made:
        ids = [f"{number:04d}" for number in range(COUNT)]
        years = [{"year": number % 10} for number in range(COUNT)]
        made.add(ids, vectors[:COUNT], modality="image", metadata=years)
        made.optimise()
        yield made


def share_found(found, expected) -> float:
    return float(
        np.mean([len(set(one.ids) & set(best)) / len(best) for one, best in zip(found, expected, strict=True)])
    )


@pytest.mark.parametrize("where", [None, "year < 8"])
def test_comparing_with_all_finds_the_nearest_in_some_columns(index, vectors, where) -> None:
    queries = vectors[COUNT:].copy()
    queries[:, :FIRST] = 0.0
    table = queries @ vectors[:COUNT].T
    if where is not None:
        table[:, np.arange(COUNT) % 10 >= 8] = -np.inf
    expected = [[f"{place:04d}" for place in row] for row in np.argsort(-table, axis=1)[:, :10]]
    found = index.search(queries, 10, where=where, exact=True)
    assert share_found(found, expected) == 1.0
    scores = np.array([one.scores for one in found])
    lengths = np.linalg.norm(vectors[0]) * np.linalg.norm(queries[0])
    np.testing.assert_allclose(scores, -np.sort(-table, axis=1)[:, :10] / lengths, atol=1e-6)
    if where is None:  # so few that meet a condition are compared one by one anyway
        assert share_found(index.search(queries, 10), expected) < 0.9
