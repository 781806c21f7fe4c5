"""The graph against naive loops."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych._core.seeding import generator
from diptych.methods.graph_laplacian import neighbour_graph, normalised_laplacian, smoothness


@pytest.fixture
def rows():
    return generator(0, "graph").normal(size=(25, 4))


def naive_graph(rows, k):
    n = len(rows)
    graph = np.zeros((n, n))
    for i in range(n):
        distances = [np.linalg.norm(rows[i] - rows[j]) if j != i else np.inf for j in range(n)]
        for j in np.argsort(distances)[:k]:
            graph[i, j] = graph[j, i] = 1.0
    return graph


@pytest.mark.parametrize("k", [1, 3, 24, 100])
def test_graph_joins_nearest_rows(rows, k: int) -> None:
    np.testing.assert_array_equal(neighbour_graph(rows, k).toarray(), naive_graph(rows, min(k, 24)))


def test_laplacian_has_its_null_vector_and_is_positive(rows) -> None:
    graph = neighbour_graph(rows, 3)
    laplacian = normalised_laplacian(graph)
    degrees = graph.toarray().sum(axis=1)
    np.testing.assert_allclose(laplacian @ np.sqrt(degrees), 0.0, atol=1e-12)
    values = np.linalg.eigvalsh(laplacian.toarray())
    assert values.min() > -1e-12
    assert values.max() < 2 + 1e-12


def test_smoothness_is_the_sum_over_edges(rows) -> None:
    graph = naive_graph(rows, 3)
    degrees = graph.sum(axis=1)
    direction = generator(1, "graph").normal(size=4)
    values = rows @ direction / np.sqrt(degrees)
    edges = 0.5 * sum(graph[i, j] * (values[i] - values[j]) ** 2 for i in range(25) for j in range(25))
    assert direction @ smoothness(rows, 3) @ direction == pytest.approx(edges)


def test_released_form_is_the_dense_kernel(rows) -> None:
    kernel = np.array([[1 / (1 + np.exp(np.linalg.norm(a - b))) for b in rows] for a in rows])
    roots = np.diag(1 / np.sqrt(naive_graph(rows, 3).sum(axis=1)))
    expected = rows.T @ (np.eye(25) - roots @ kernel @ roots) @ rows
    np.testing.assert_allclose(smoothness(rows, 3, "released"), expected, atol=1e-10)


def test_released_form_degenerates_in_many_dimensions() -> None:
    """Far apart, only a row's affinity of one half to itself is left, and the graph says nothing any more."""
    rows = generator(2, "graph").normal(size=(30, 2000))
    degrees = naive_graph(rows, 5).sum(axis=1)
    expected = rows.T @ ((1 - 0.5 / degrees)[:, None] * rows)
    np.testing.assert_allclose(smoothness(rows, 5, "released"), expected, atol=1e-8)


def test_one_row_has_no_neighbour() -> None:
    np.testing.assert_array_equal(smoothness(np.array([[1.0, 2.0]]), 5), [[1.0, 2.0], [2.0, 4.0]])


def test_unknown_form_is_refused(rows) -> None:
    with pytest.raises(ConfigError, match="'dense'; choose one of knn, released"):
        smoothness(rows, 3, "dense")
