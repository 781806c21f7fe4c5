import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diptych._core.seeding import generator
from diptych.methods.algebra.truncated_svd import truncated_svd


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
