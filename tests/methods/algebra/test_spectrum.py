import numpy as np
import pytest

from diptych._core.seeding import generator
from diptych.methods.algebra.spectrum import cross_basis, spectrum


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
