import warnings

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from diptych._core.seeding import generator
from diptych.methods.linear.algebra import (
    canonical_coordinates,
    cross_basis,
    multiview_coordinates,
    spectrum,
    truncated_svd,
)


def centred(shape, seed=0):
    rows = generator(seed, "spectrum", str(shape)).normal(size=shape)
    return rows - rows.mean(axis=0)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("shape", [(50, 8), (12, 40), (20, 20)])
def test_variances_and_both_bases_rebuild_the_rows(shape, exact):
    rows = centred(shape)
    view = spectrum(rows, exact=exact)
    lengths = np.linalg.svd(rows, compute_uv=False)
    assert view.rank == min(shape[0] - 1, shape[1])
    np.testing.assert_allclose(view.variances, lengths[: view.rank] ** 2 / (shape[0] - 1), rtol=1e-8)
    axes = view.weights(np.eye(view.rank))
    np.testing.assert_allclose(axes.T @ axes, np.eye(view.rank), atol=1e-8)
    np.testing.assert_allclose(view.row_basis.T @ view.row_basis, np.eye(view.rank), atol=1e-8)
    rebuilt = view.row_basis * np.sqrt(view.variances * (shape[0] - 1)) @ axes.T
    np.testing.assert_allclose(rebuilt, rows, atol=1e-8)
    assert view.mean_variance == pytest.approx(rows.var(axis=0, ddof=1).mean())


def test_exact_sees_singular_values_that_squaring_buries():
    rows = centred((40, 5)) * np.array([1, 1, 1, 1, 1e-9])
    assert spectrum(rows).rank == 4
    assert spectrum(rows, exact=True).rank == 5
    assert spectrum(rows * np.array([1, 1, 1, 1, 1e-4]), exact=True).rank == 4


@pytest.mark.parametrize("shapes", [((60, 8), (60, 5)), ((20, 60), (20, 30)), ((20, 6), (20, 50))])
def test_cross_basis_is_the_same_whichever_sides_were_decomposed(shapes):
    first, second = (spectrum(centred(shape, seed)) for seed, shape in enumerate(shapes))
    expected = first.row_basis.T @ second.row_basis
    np.testing.assert_allclose(cross_basis(first, second), expected, atol=1e-10)


def test_constant_rows_have_no_axes():
    assert spectrum(np.zeros((9, 4))).rank == 0
    assert spectrum(np.zeros((9, 4)), exact=True).rank == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 45), st.integers(0, 10**6))
def test_equals_the_leading_part_of_numpys(rows, columns, components, seed):
    matrix = generator(seed, "svd").normal(size=(rows, columns))
    left, values, right = truncated_svd(matrix, components)
    kept = min(rows, columns, components)
    full_left, full_values, full_right = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(values, full_values[:kept], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(left.T @ left, np.eye(kept), atol=1e-10)
    np.testing.assert_allclose(right.T @ right, np.eye(kept), atol=1e-10)
    best = (full_left[:, :kept] * full_values[:kept]) @ full_right[:kept]
    np.testing.assert_allclose((left * values) @ right.T, best, atol=1e-7)


@pytest.mark.parametrize("shape", [(60, 80), (80, 60)])
def test_small_values_survive_the_squaring(shape):
    random = generator(0, "graded")
    left = np.linalg.qr(random.normal(size=(shape[0], 60)))[0]
    right = np.linalg.qr(random.normal(size=(shape[1], 60)))[0]
    values = 10.0 ** -np.arange(60)
    found = truncated_svd((left * values) @ right.T, 12)
    np.testing.assert_allclose(found[1], values[:12], rtol=1e-4)
    np.testing.assert_allclose(found[2].T @ found[2], np.eye(12), atol=1e-10)


def test_the_sign_is_fixed_jointly():
    matrix = generator(1, "signs").normal(size=(30, 50))
    left, values, right = truncated_svd(matrix, 4)
    assert (left[np.abs(left).argmax(axis=0), range(4)] > 0).all()
    np.testing.assert_allclose(np.diagonal(left.T @ matrix @ right), values)


def test_a_zero_matrix_has_zero_values():
    left, values, right = truncated_svd(np.zeros((20, 30)), 3)
    assert values.tolist() == [0.0] * 3
    np.testing.assert_allclose(left.T @ left, np.eye(3))
    np.testing.assert_allclose(right.T @ right, np.eye(3))


def two_views(count, first, second, seed=0):
    random = generator(seed, "views")
    latent = random.normal(size=(count, 3))
    x = latent @ random.normal(size=(3, first)) + random.normal(size=(count, first))
    y = latent @ random.normal(size=(3, second)) + random.normal(size=(count, second))
    return x - x.mean(axis=0), y - y.mean(axis=0)


def ridge_cca(x, y, ridge, components):
    views = spectrum(x, exact=ridge == 0), spectrum(y, exact=ridge == 0)
    variances = views[0].variances, views[1].variances
    correlations, a, b = canonical_coordinates(cross_basis(*views), variances, (ridge, ridge), components)
    return correlations, views[0].weights(a), views[1].weights(b)


def correlations_of(x, y):
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(x.T, y.T, strict=True)])


def same_up_to_sign(ours, theirs):
    """Whether columns are the same, up to the sign and length of each."""
    cosines = np.einsum("ij,ij->j", ours, theirs) / (np.linalg.norm(ours, axis=0) * np.linalg.norm(theirs, axis=0))
    np.testing.assert_allclose(np.abs(cosines), 1.0, atol=1e-7)


def test_equals_cca_zoo_without_a_ridge():
    zoo = pytest.importorskip("cca_zoo.linear")
    x, y = two_views(200, 10, 7)
    correlations, a, b = ridge_cca(x, y, 0.0, 5)
    codes = zoo.CCA(n_components=5).fit([x, y]).transform([x, y])
    np.testing.assert_allclose(correlations, correlations_of(*codes), atol=1e-10)
    same_up_to_sign(x @ a, codes[0])
    same_up_to_sign(y @ b, codes[1])


@pytest.mark.parametrize("shrinkage", [0.01, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(200, 10, 7), (40, 90, 60), (50, 8, 120)])
def test_equals_cca_zoo_with_a_ridge(shape, shrinkage):
    zoo = pytest.importorskip("cca_zoo.linear")
    x, y = two_views(*shape)
    _, a, b = ridge_cca(x, y, shrinkage / (1 - shrinkage), 4)
    codes = zoo.RidgeCCA(n_components=4, shrinkage=shrinkage).fit([x, y]).transform([x, y])
    np.testing.assert_allclose(correlations_of(x @ a, y @ b), correlations_of(*codes), atol=1e-8)
    same_up_to_sign(x @ a, codes[0])
    same_up_to_sign(y @ b, codes[1])


def test_equals_sklearn():
    from sklearn.cross_decomposition import CCA

    x, y = two_views(300, 6, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        codes = CCA(n_components=3, max_iter=20_000, tol=1e-12).fit(x, y).transform(x, y)
    np.testing.assert_allclose(ridge_cca(x, y, 0.0, 3)[0], correlations_of(*codes), atol=1e-6)


def test_without_a_ridge_projections_have_unit_variance_and_correlate_by_rho():
    x, y = two_views(150, 9, 5)
    correlations, a, b = ridge_cca(x, y, 0.0, 5)
    joint = np.cov(x @ a, y @ b, rowvar=False)
    np.testing.assert_allclose(joint[:5, :5], np.eye(5), atol=1e-10)
    np.testing.assert_allclose(joint[5:, 5:], np.eye(5), atol=1e-10)
    np.testing.assert_allclose(joint[:5, 5:], np.diag(correlations), atol=1e-10)


def test_the_constraint_holds_with_a_ridge():
    x, y = two_views(150, 9, 5)
    _, a, b = ridge_cca(x, y, 2.5, 4)
    for rows, weights in ((x, a), (y, b)):
        metric = np.cov(rows, rowvar=False) + 2.5 * np.eye(rows.shape[1])
        np.testing.assert_allclose(weights.T @ metric @ weights, np.eye(4), atol=1e-10)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_invertible_maps_of_a_view_change_nothing(seed):
    x, y = two_views(80, 6, 5, seed)
    random = generator(seed, "map")
    turn = np.linalg.qr(random.normal(size=(6, 6)))[0] * 10.0 ** random.uniform(-3, 3, size=6)
    before, after = ridge_cca(x, y, 0.0, 5)[0], ridge_cca(x @ turn, y, 0.0, 5)[0]
    np.testing.assert_allclose(after, before, atol=1e-8)


def test_one_column_each_gives_the_size_of_pearsons_correlation():
    x, y = two_views(60, 1, 1, seed=4)
    assert ridge_cca(x, y, 0.0, 1)[0][0] == pytest.approx(abs(np.corrcoef(x[:, 0], y[:, 0])[0, 1]))


def test_more_columns_than_rows_correlate_perfectly_whatever_the_data():
    random = generator(0, "noise")
    x, y = random.normal(size=(30, 50)), random.normal(size=(30, 40))
    correlations, _, _ = ridge_cca(x - x.mean(axis=0), y - y.mean(axis=0), 0.0, 1000)
    assert len(correlations) == 29
    np.testing.assert_allclose(correlations, 1.0, atol=1e-9)


def test_fewer_components_are_a_prefix_of_more():
    x, y = two_views(80, 40, 50)
    few, many = ridge_cca(x, y, 0.7, 3), ridge_cca(x, y, 0.7, 30)
    np.testing.assert_allclose(few[0], many[0][:3])
    np.testing.assert_allclose(few[1], many[1][:, :3], atol=1e-9)
    np.testing.assert_allclose(few[2], many[2][:, :3], atol=1e-9)


def views_of(count, *dimensions):
    random = generator(3, "multiview")
    latent = random.normal(size=(count, 3))
    views = [latent @ random.normal(size=(3, d)) + random.normal(size=(count, d)) for d in dimensions]
    return [view - view.mean(axis=0) for view in views]


@pytest.mark.parametrize("shape", [(80, 6, 5, 4), (25, 40, 30, 3)])
def test_equals_the_dense_generalised_eigenproblem(shape):
    rows = views_of(*shape)
    ridges = [0.3, 0.2, 0.05]
    views = [spectrum(view) for view in rows]
    values, parts = multiview_coordinates(views, ridges, 6)
    covariance = np.cov(np.concatenate(rows, axis=1), rowvar=False)
    covariance += np.diag(np.repeat(ridges, shape[1:]))
    ends = np.cumsum(shape[1:])
    blocks = [covariance[end - d : end, end - d : end] for end, d in zip(ends, shape[1:], strict=True)]
    metric = scipy.linalg.block_diag(*blocks)
    expected, vectors = scipy.linalg.eigh(covariance, metric)
    np.testing.assert_allclose(values, expected[::-1][:6], rtol=1e-8)
    found = np.concatenate([view.weights(part) for view, part in zip(views, parts, strict=True)])
    np.testing.assert_allclose(found.T @ metric @ found, np.eye(6), atol=1e-8)
    agreement = np.abs(np.diagonal(found.T @ metric @ vectors[:, ::-1][:, :6]))
    np.testing.assert_allclose(agreement, 1.0, atol=1e-7)


def test_two_views_are_cca_with_eigenvalues_one_plus_rho():
    views = [spectrum(rows) for rows in views_of(90, 7, 5)]
    values, parts = multiview_coordinates(views, [0.4, 0.1], 5)
    variances = views[0].variances, views[1].variances
    correlations, a, b = canonical_coordinates(cross_basis(*views), variances, (0.4, 0.1), 5)
    np.testing.assert_allclose(values, 1 + correlations, atol=1e-10)
    for ours, theirs in zip(parts, (a, b), strict=True):
        np.testing.assert_allclose(np.abs(ours), np.abs(theirs) / np.sqrt(2), atol=1e-8)


def test_axes_along_which_the_views_disagree_are_left_out():
    views = [spectrum(rows) for rows in views_of(90, 7, 5)]
    values, parts = multiview_coordinates(views, [0.1, 0.1], 100)
    assert len(values) == parts[0].shape[1] == 5
    assert (values > 1).all()
