import numpy as np
import pytest
import scipy.linalg

from diptych._core.seeding import generator
from diptych.methods.algebra.canonical import canonical_coordinates
from diptych.methods.algebra.multiview import multiview_coordinates
from diptych.methods.algebra.spectrum import cross_basis, spectrum


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
