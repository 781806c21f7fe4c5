"""Joint regression against closed forms, finite differences and a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from diptych._core.errors import ConfigError, FitError
from diptych._core.seeding import generator
from diptych.methods.semantic.joint_regression import (
    Problem,
    Side,
    Weights,
    neighbour_graph,
    normalised_laplacian,
    smoothness,
    solve,
)

EPSILON = 1e-6


@pytest.fixture
def toy():
    """Thirty pairs of twelve and nine features, two thirds of them labelled with three classes."""
    random = generator(0, "jrl")
    X, Y = random.normal(size=(30, 12)), random.normal(size=(30, 9))
    return X, Y, np.eye(3)[random.integers(3, size=20)]


def problem_of(X, Y, L):
    labelled = slice(0, len(L))
    first = Side.of(smoothness(X, 4), X[labelled], L, X)
    second = Side.of(smoothness(Y, 4), Y[labelled], L, Y)
    return Problem(first, second, X.T @ Y)


def written_out(X, Y, L, weights):
    """The objective as the formula has it, from the data and not from their products."""
    n, graph_x, graph_y = len(L), smoothness(X, 4), smoothness(Y, 4)

    def value(flat):
        P, Q = flat[:36].reshape(12, 3), flat[36:].reshape(9, 3)
        smooth = np.trace(P.T @ graph_x @ P) + np.trace(Q.T @ graph_y @ Q)
        regression = np.sum((X[:n] @ P - L) ** 2) + np.sum((Y[:n] @ Q - L) ** 2)
        agreement = np.sum((X @ P - Y @ Q) ** 2)
        sparse = sum(np.sqrt(np.sum(M**2, axis=1) + EPSILON).sum() for M in (P, Q))
        return (
            weights.graph * smooth + weights.labels * regression + weights.pairs * agreement + weights.sparsity * sparse
        )

    return value


def slope(value, at, step=1e-6):
    """Central differences along every coordinate."""
    steps = step * np.eye(len(at))
    return np.array([(value(at + s) - value(at - s)) / (2 * step) for s in steps])


def test_objective_is_the_formula(toy) -> None:
    random = generator(1, "jrl")
    P, Q = random.normal(size=(12, 3)), random.normal(size=(9, 3))
    weights = Weights(sparsity=0.7, graph=0.3, pairs=1.3, labels=0.9)
    expected = written_out(*toy, weights)(np.concatenate([P.ravel(), Q.ravel()]))
    assert problem_of(*toy).objective((P, Q), weights, EPSILON) == pytest.approx(expected)


@pytest.mark.parametrize("weights", [Weights(0.5, 0.2, 1.0, 1.0), Weights(5.0, 0.01, 3.0, 0.5)])
def test_solution_is_the_one_a_general_optimiser_finds(toy, weights: Weights) -> None:
    (P, Q), _ = solve(problem_of(*toy), weights, max_iterations=3000, tolerance=0.0, epsilon=EPSILON)
    value, at = written_out(*toy, weights), np.concatenate([P.ravel(), Q.ravel()])
    found = minimize(value, np.zeros(63), method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15})
    assert value(at) <= found.fun + 1e-7
    np.testing.assert_allclose(at, found.x, atol=2e-3)
    assert np.abs(slope(value, at)).max() < 1e-5


def test_objective_never_rises_and_the_start_does_not_matter(toy) -> None:
    problem, weights = problem_of(*toy), Weights(2.0, 0.1, 1.0, 1.0)
    random = generator(2, "jrl")
    elsewhere = (random.uniform(size=(12, 3)), random.uniform(size=(9, 3)))
    one, history = solve(problem, weights, max_iterations=2000, tolerance=0.0)
    other, _ = solve(problem, weights, start=elsewhere, max_iterations=2000, tolerance=0.0)
    assert np.all(np.diff(history) <= 1e-9 * history[0])
    np.testing.assert_allclose(one[0], other[0], atol=1e-4)


def test_tolerance_ends_the_iterations(toy) -> None:
    _, loose = solve(problem_of(*toy), Weights(1.0, 0.1, 1.0, 1.0), tolerance=1e-2)
    _, tight = solve(problem_of(*toy), Weights(1.0, 0.1, 1.0, 1.0), tolerance=1e-10, max_iterations=500)
    assert 1 < len(loose) < len(tight)


def test_without_other_terms_it_is_least_squares(toy) -> None:
    X, Y, L = toy
    (P, Q), _ = solve(problem_of(*toy), Weights(sparsity=0.0, graph=0.0, pairs=0.0, labels=1.0))
    np.testing.assert_allclose(P, np.linalg.lstsq(X[:20], L, rcond=None)[0], atol=1e-10)
    np.testing.assert_allclose(Q, np.linalg.lstsq(Y[:20], L, rcond=None)[0], atol=1e-10)


def test_heavy_pairs_force_agreement(toy) -> None:
    X, Y, L = toy
    Y = X[:, :9] @ generator(3, "jrl").normal(size=(9, 9))  # so that agreement is possible
    gaps = []
    for pairs in (0.0, 1.0, 100.0):
        (P, Q), _ = solve(problem_of(X, Y, L), Weights(0.0, 0.0, pairs, 1.0), max_iterations=3000, tolerance=1e-12)
        gaps.append(np.linalg.norm(X @ P - Y @ Q) / np.linalg.norm(X @ P))
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.02


def test_sparsity_empties_rows(toy) -> None:
    X, Y, L = toy
    X = X.copy()
    X[:20, :3] += 4.0 * L  # only three features know the class
    (P, _), _ = solve(problem_of(X, Y, L), Weights(20.0, 0.0, 0.0, 1.0), max_iterations=500, tolerance=1e-12)
    norms = np.linalg.norm(P, axis=1)
    assert norms[:3].min() > 100 * norms[3:].max()


def test_an_undetermined_system_is_named() -> None:
    X = np.ones((3, 5))
    side = Side.of(np.zeros((5, 5)), X, np.eye(3), X)
    with pytest.raises(FitError, match="raise sparsity"):
        solve(Problem(side, side, X.T @ X), Weights(0.0, 0.0, 1.0, 1.0))


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
