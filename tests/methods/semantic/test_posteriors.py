"""Posteriors against scikit-learn's own predictions."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from diptych._core.seeding import generator
from diptych.methods.semantic.posteriors import fit_posteriors


def blobs(classes: int, seed: int = 0):
    random = generator(seed, "blobs")
    codes = np.arange(60) % classes
    return random.normal(size=(60, 5)) + np.eye(5)[codes % 5], codes


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_posteriors_are_scikit_learns(classes: int) -> None:
    rows, codes = blobs(classes)
    expected = LogisticRegression(C=1 / (60 * 0.05), max_iter=500).fit(rows, codes).predict_proba(rows)
    np.testing.assert_allclose(fit_posteriors(rows, codes, classes, 0.05)(rows), expected, atol=1e-12)


def test_solution_is_stationary() -> None:
    """The gradient of (1/n) Σ −log p + (s/2) ‖W‖² vanishes: the strength means what it says."""
    rows, codes = blobs(4)
    model = fit_posteriors(rows, codes, 4, 0.1)
    residual = (model(rows) - np.eye(4)[codes]) / 60
    np.testing.assert_allclose(rows.T @ residual + 0.1 * model.weights, 0.0, atol=1e-4)
    np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-4)


@pytest.mark.parametrize("strength", [1e-3, 0.05, 1.0])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_shares_that_are_labels_give_scikit_learns_posteriors(classes: int, strength: float) -> None:
    rows, codes = blobs(classes)
    expected = LogisticRegression(C=1 / (60 * strength), max_iter=500).fit(rows, codes).predict_proba(rows)
    found = fit_posteriors(rows, np.eye(classes)[codes], classes, strength)(rows)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_shares_are_weights_of_repeated_rows(classes: int) -> None:
    """A row of which a tenth belongs to another class is ten rows, one of them of that class."""
    rows, codes = blobs(classes)
    shares = 0.9 * np.eye(classes)[codes] + 0.1 * np.eye(classes)[(codes + 1) % classes]
    many = np.repeat(codes, 10)
    many[::10] = (codes + 1) % classes
    expected = fit_posteriors(np.repeat(rows, 10, axis=0), many, classes, 0.05)(rows)
    np.testing.assert_allclose(fit_posteriors(rows, shares, classes, 0.05)(rows), expected, atol=1e-3)


def test_the_solution_for_shares_is_stationary() -> None:
    rows, _ = blobs(4)
    shares = generator(1, "shares").dirichlet(np.ones(4), size=60)
    model = fit_posteriors(rows, shares, 4, 0.1)
    residual = (model(rows) - shares) / 60
    np.testing.assert_allclose(rows.T @ residual + 0.1 * model.weights, 0.0, atol=1e-4)
    np.testing.assert_allclose(residual.sum(axis=0), 0.0, atol=1e-4)


@pytest.mark.parametrize("as_shares", [False, True])
@pytest.mark.parametrize("kept", [(0, 2, 5), (1, 4), (3,)])
def test_absent_classes_get_nothing(kept: tuple[int, ...], as_shares: bool) -> None:
    rows, _ = blobs(3)
    codes = np.array(kept)[np.arange(60) % len(kept)]
    posteriors = fit_posteriors(rows, np.eye(6)[codes] if as_shares else codes, 6, 0.1)(rows)
    assert posteriors.shape == (60, 6)
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0)
    absent = [code for code in range(6) if code not in kept]
    np.testing.assert_array_equal(posteriors[:, absent], 0.0)
    assert (posteriors[:, list(kept)] > 0).all()


def test_a_weak_penalty_on_separable_classes_is_no_warning() -> None:
    rows = np.repeat(np.array([[-1e6], [1e6]]), 5, axis=0)
    posteriors = fit_posteriors(rows, np.repeat([0, 1], 5), 2, 1e-9)(rows)
    np.testing.assert_array_equal(posteriors.argmax(axis=1), np.repeat([0, 1], 5))


def test_one_label_per_class_is_no_warning() -> None:
    posteriors = fit_posteriors(np.eye(5), np.arange(5), 5, 0.01)(np.eye(5))
    np.testing.assert_array_equal(posteriors.argmax(axis=1), np.arange(5))
