import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from diptych._core.seeding import generator
from diptych.methods.algebra.kernels import Kernel, median_distance, with_unit_diagonal

ROWS = generator(0, "kernel rows").normal(size=(20, 6))
OTHERS = generator(1, "kernel rows").normal(size=(9, 6))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Kernel("rbf", gamma=0.3), rbf_kernel(OTHERS, ROWS, gamma=0.3)),
        (Kernel("poly", gamma=0.2, degree=3), polynomial_kernel(OTHERS, ROWS, gamma=0.2, degree=3, coef0=1)),
        (Kernel("linear"), linear_kernel(OTHERS, ROWS)),
    ],
)
def test_equals_sklearn(kernel, expected):
    np.testing.assert_allclose(kernel(OTHERS, ROWS), expected, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(ROWS), np.diagonal(kernel(ROWS, ROWS)), atol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "poly", "linear"])
def test_the_diagonal_averages_to_one(name):
    kernel = with_unit_diagonal(Kernel(name, gamma=0.5, degree=2), ROWS)
    assert np.diagonal(kernel(ROWS, ROWS)).mean() == pytest.approx(1.0)


def test_median_distance_is_over_different_rows():
    assert median_distance(ROWS) == pytest.approx(np.median(pdist(ROWS)))


def test_coinciding_rows_do_not_make_the_kernel_infinitely_narrow():
    assert median_distance(np.full((8, 3), 1e5)) == 1.0
    assert median_distance(ROWS[:1]) == 1.0
