import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diptych._core.seeding import generator
from diptych.methods.algebra.canonical import canonical_coordinates
from diptych.methods.algebra.spectrum import cross_basis, spectrum


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
