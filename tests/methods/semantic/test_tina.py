"""TINA: its objective against loops, its solution against an independent convex solver, its hierarchy by hand."""

import numpy as np
import pytest

from diptych._core.errors import ConfigError
from diptych.methods import create
from diptych.methods.semantic.class_hierarchy import class_relevance, name_similarity
from diptych.methods.semantic.local_ranking import RankingProblem, Side, Triplets, draw_triplets


def triplets(draw, asking, asked, count, margins):
    queries = np.sort(draw.integers(asking, size=count))
    return Triplets(queries, *draw.integers(asked, size=(2, count)), margins)


def problem(seed=0, experts=1, aggregation="projections", columns=(4, 3), graded=False):
    draw = np.random.default_rng(seed)
    sides = []
    for count, width in zip((9, 7), columns, strict=True):
        shares = draw.random((count, experts)) + 0.1
        sides.append(Side(draw.standard_normal((count, width)), shares / shares.sum(1, keepdims=True)))
    margins = [draw.random(40) if graded else np.ones(40) for _ in range(2)]
    forward, backward = triplets(draw, 9, 7, 40, margins[0]), triplets(draw, 7, 9, 40, margins[1])
    return RankingProblem(sides[0], sides[1], forward, backward, aggregation)


def rows_of(drawn):
    return zip(drawn.queries, drawn.better, drawn.worse, drawn.margins, strict=True)


def naive_bilinear(of, weights):
    """The ranking risk of s = xᵀ W y and its gradient for W, triplet by triplet."""
    total, gradient = 0.0, np.zeros_like(weights)
    x, y = of.first.rows, of.second.rows
    for q, j, k, margin in rows_of(of.forward):
        slack = margin - (x[q] @ weights @ y[j] - x[q] @ weights @ y[k])
        if slack > 0:
            total += slack**2 / 2
            gradient -= slack * np.outer(x[q], y[j] - y[k])
    for q, j, k, margin in rows_of(of.backward):
        slack = margin - (x[j] @ weights @ y[q] - x[k] @ weights @ y[q])
        if slack > 0:
            total += slack**2 / 2
            gradient -= slack * np.outer(x[j] - x[k], y[q])
    count = len(of.forward) + len(of.backward)
    return total / count, gradient / count


@pytest.mark.parametrize("seed", [0, 1])
def test_with_one_expert_value_and_gradient_are_those_of_a_bilinear_model(seed) -> None:
    of = problem(seed)
    draw = np.random.default_rng(seed + 10)
    first, second = draw.standard_normal((4, 1, 2)), draw.standard_normal((3, 1, 2))
    value, by_first, by_second = of.objective(first, second, consistency=0.7, complexity=0.3)
    u, v = first[:, 0], second[:, 0]
    risk, by_weights = naive_bilinear(of, u @ v.T)
    assert value == pytest.approx(risk + 0.15 * (np.sum(u**2) + np.sum(v**2)))
    np.testing.assert_allclose(by_first[:, 0], by_weights @ v + 0.3 * u)
    np.testing.assert_allclose(by_second[:, 0], by_weights.T @ u + 0.3 * v)


@pytest.mark.parametrize("complexity", [0.08, 0.2])
def test_with_one_expert_the_solution_is_that_of_a_convex_bilinear_model(complexity) -> None:
    """The least ½ (‖U‖² + ‖V‖²) with U Vᵀ = W is W's nuclear norm, so proximal steps on W alone solve it too."""
    of = problem(3, graded=True)
    draw = np.random.default_rng(5)
    start = draw.standard_normal((4, 1, 3)), draw.standard_normal((3, 1, 3))
    first, second, objective = of.solve(start, 0.0, complexity, max_steps=3_000, tolerance=1e-12)
    weights, step = np.zeros((4, 3)), 0.1
    for _ in range(20_000):
        u, values, v = np.linalg.svd(weights - step * naive_bilinear(of, weights)[1], full_matrices=False)
        moved = u @ np.diag(np.maximum(values - step * complexity, 0)) @ v
        if np.abs(moved - weights).max() < 1e-9:
            break
        weights = moved
    nuclear = np.linalg.svd(weights, compute_uv=False).sum()
    assert objective == pytest.approx(naive_bilinear(of, weights)[0] + complexity * nuclear, rel=1e-5)
    np.testing.assert_allclose(first[:, 0] @ second[:, 0].T, weights, atol=2e-4)


@pytest.mark.parametrize("aggregation", ["projections", "distances"])
def test_scores_of_local_experts_are_those_of_the_formula(aggregation) -> None:
    of = problem(1, experts=3, aggregation=aggregation)
    draw = np.random.default_rng(2)
    first, second = draw.standard_normal((4, 3, 2)), draw.standard_normal((3, 3, 2))
    scores = of.first.embed(first, aggregation) @ of.second.embed(second, aggregation).T
    for row, (x, g) in enumerate(zip(of.first.rows, of.first.memberships, strict=True)):
        for column, (y, h) in enumerate(zip(of.second.rows, of.second.memberships, strict=True)):
            if aggregation == "projections":
                ours = sum(g[k] * first[:, k].T @ x for k in range(3))
                expected = ours @ sum(h[k] * second[:, k].T @ y for k in range(3))
            else:
                expected = sum(g[k] * h[k] * (first[:, k].T @ x) @ (second[:, k].T @ y) for k in range(3))
            assert scores[row, column] == pytest.approx(expected)


@pytest.mark.parametrize("aggregation", ["projections", "distances"])
def test_the_gradient_is_that_of_finite_differences(aggregation) -> None:
    of = problem(4, experts=3, aggregation=aggregation, graded=True)
    draw = np.random.default_rng(6)
    point = [draw.standard_normal((4, 3, 2)), draw.standard_normal((3, 3, 2))]
    _, *gradients = of.objective(*point, consistency=0.5, complexity=0.1)
    for side in range(2):
        for place in [(0, 0, 0), (2, 1, 1), (1, 2, 0)]:
            values = []
            for change in (1e-6, -1e-6):
                moved = [each.copy() for each in point]
                moved[side][place] += change
                values.append(of.objective(*moved, consistency=0.5, complexity=0.1)[0])
            assert gradients[side][place] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-4, abs=1e-7)


def test_consistency_is_the_sum_over_neighbouring_experts() -> None:
    of = problem(7, experts=3)
    draw = np.random.default_rng(8)
    point = draw.standard_normal((4, 3, 2)), draw.standard_normal((3, 3, 2))
    g, h = of.first.memberships, of.second.memberships
    expected = 0.0
    for k in range(3):
        for other in range(k):
            overlap = ((g[:, k] * g[:, other]).mean() + (h[:, k] * h[:, other]).mean()) / 2
            expected += overlap * sum(np.sum((each[:, k] - each[:, other]) ** 2) for each in point)
    with_, without = (of.objective(*point, consistency=beta, complexity=0.0)[0] for beta in (0.8, 0.0))
    assert with_ - without == pytest.approx(0.4 * expected)


def test_drawn_triplets_are_ordered_by_graded_relevance() -> None:
    draw = np.random.default_rng(0)
    relevance = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
    asking, asked = np.eye(3)[draw.integers(3, size=20)], np.eye(3)[draw.integers(3, size=30)]
    drawn = draw_triplets(asking, asked, relevance, 400, draw)
    graded = asking @ relevance @ asked.T
    difference = graded[drawn.queries, drawn.better] - graded[drawn.queries, drawn.worse]
    np.testing.assert_allclose(difference, drawn.margins)
    assert (difference > 0).all() and (np.diff(drawn.queries) >= 0).all()
    assert {round(value, 1) for value in difference} == {0.4, 0.6, 1.0}


def test_the_hierarchy_joins_content_and_names() -> None:
    """Cats and dogs look alike; by their names the two courts belong together."""
    looks = {"image": np.array([[1.0, 0.2, 0.0], [1.0, 0.0, 0.2], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]])}
    names = ["cat", "dog", "tennis court", "squash court"]
    by_content = class_relevance(looks, names, name_weight=0.0)
    assert by_content[0, 1] > 0.8 and by_content[2, 3] < 0.5
    assert class_relevance(looks, names, name_weight=0.7)[2, 3] > by_content[2, 3]
    np.testing.assert_allclose(by_content, by_content.T)
    np.testing.assert_allclose(np.diag(by_content), 1.0)
    assert by_content.min() == pytest.approx(0.0)
    # A tree's heights are an ultrametric: of any three, the two least relevant pairs are equally so.
    for a, b, c in [(0, 1, 2), (0, 2, 3), (1, 2, 3)]:
        low, middle, _ = sorted([by_content[a, b], by_content[b, c], by_content[a, c]])
        assert low == pytest.approx(middle)


def test_names_without_letters_in_common_are_unlike() -> None:
    found = name_similarity(["Art", "art", "42", "-"])
    assert found[0, 1] == pytest.approx(1.0) and found[0, 2] == 0.0 and found[3, 3] == 1.0


def test_the_embedding_of_distances_is_as_long_as_all_experts(dense_dataset) -> None:
    model = create("tina", experts=3, components=4, aggregation="distances", complexity=1e-3, consistency=1e-2)
    model.fit(dense_dataset)
    rows = dense_dataset.split("test").having("image").features("image")
    assert model.embed("image", rows).shape == (len(rows), 12)


def test_several_experts_fit_what_one_cannot() -> None:
    """Which side of an axis is which class depends on where the row lies: no single projection tells them apart."""
    draw = np.random.default_rng(0)
    sign, where = draw.choice([-1.0, 1.0], size=(2, 600))
    noise = 0.05 * draw.standard_normal((2, 600, 2))
    rows = np.stack([3.0 * where, sign], axis=1)
    labels = (sign * where > 0).astype(int)
    data = {"image": rows + noise[0], "text": rows[:, ::-1] + noise[1]}
    params = {"complexity": 1e-4, "consistency": 0.0, "scaling": "none", "hierarchy": "flat"}
    scores = [create("tina", experts=k, **params).fit(data, labels=labels).score(data, labels) for k in (1, 2)]
    assert scores[0] < 0.8 and scores[1] > 0.95


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"aggregation": "sums"}, "aggregation is 'sums'; choose one of projections, distances"),
        ({"hierarchy": "tall"}, "hierarchy is 'tall'; choose one of semantic, flat"),
        ({"name_weight": 2}, "name_weight is 2; it must lie between 0 and 1"),
        ({"experts": 0}, "experts is 0; it must be at least 1"),
        ({"consistency": -1.0}, "consistency is -1.0; it must be zero or positive"),
    ],
)
def test_parameters_out_of_range_are_refused(dense_dataset, params, words) -> None:
    with pytest.raises(ConfigError, match=words):
        create("tina", **params).fit(dense_dataset)
