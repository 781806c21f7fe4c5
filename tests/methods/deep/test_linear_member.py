"""The linear member is multinomial logistic regression, and its penalty is chosen by held-out rows."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from diptych._core.seeding import generator
from diptych.methods.deep.linear_member import (
    LEAST_JUDGES,
    STRENGTHS,
    _path,
    _posteriors,
    fit_linear_member,
    held_out_loss,
)
from diptych.methods.posteriors import fit_posteriors

CLASSES, COLUMNS = 4, 12


def data(count, seed=0, spread=1.5):
    random = generator(seed, "linear member test")
    centres = np.random.default_rng(7).normal(size=(CLASSES, COLUMNS))
    codes = np.arange(count) % CLASSES
    rows = centres[codes] + spread * random.normal(size=(count, COLUMNS))
    return rows.astype(np.float32), codes


def one_hot(codes):
    return np.eye(CLASSES, dtype=np.float32)[codes]


def reference(rows, codes, strength):
    return LogisticRegression(C=1.0 / (len(rows) * strength), max_iter=2000, tol=1e-8).fit(rows, codes)


def test_every_solution_on_the_path_is_scikit_learns():
    rows, codes = data(200)
    others, _ = data(50, seed=1)
    path = _path(torch.from_numpy(rows), torch.from_numpy(one_hot(codes)), STRENGTHS)
    for strength, solution in zip(STRENGTHS, path, strict=True):
        expected = reference(rows, codes, strength).predict_proba(others)
        np.testing.assert_allclose(_posteriors(solution)(others.astype(np.float64)), expected, atol=5e-3)
    assert np.abs(reference(rows, codes, 0.1).predict_proba(others) - expected).max() > 0.05  # penalties matter


def naive_choice(rows, codes, judges):
    """The penalty with the smallest log-loss of held-out rows, by scikit-learn."""
    losses = []
    for strength in STRENGTHS:
        scores = reference(rows, codes, strength).decision_function(judges[0])
        losses.append(-log_softmax(scores, axis=1)[np.arange(len(judges[1])), judges[1]].mean())
    return STRENGTHS[int(np.argmin(losses))]


@pytest.mark.parametrize("spread", [0.8, 3.0])
def test_the_penalty_is_chosen_by_validation_rows(spread):
    (rows, codes), judges = data(160, spread=spread), data(LEAST_JUDGES + 20, seed=2, spread=spread)
    found, strength = fit_linear_member(rows, one_hot(codes), judges, 0)
    assert strength == naive_choice(rows, codes, judges)
    expected = reference(rows, codes, strength).predict_proba(judges[0])
    np.testing.assert_allclose(found(judges[0].astype(np.float64)), expected, atol=5e-3)


def test_easy_classes_get_a_weaker_penalty_than_hard_ones():
    strengths = []
    for spread in (0.8, 3.0):
        (rows, codes), judges = data(160, spread=spread), data(200, seed=2, spread=spread)
        strengths.append(fit_linear_member(rows, one_hot(codes), judges, 0)[1])
    assert strengths[0] < strengths[1]


@pytest.mark.parametrize("judges", [None, LEAST_JUDGES - 1])
def test_where_validation_is_small_a_fifth_of_the_training_rows_judges(judges):
    """The rows of a small validation are not looked at, and the solution is one on all training rows."""
    rows, codes = data(150)
    held_out = None
    if judges is not None:
        others, labels = data(judges, seed=3)
        held_out = others, (labels + 1) % CLASSES  # nonsense: whoever read it would choose the strongest penalty
    found, strength = fit_linear_member(rows, one_hot(codes), held_out, 5)
    part = generator(5, "linear member").permutation(len(rows))
    few, most = part[: len(rows) // 5], part[len(rows) // 5 :]
    assert strength == naive_choice(rows[most], codes[most], (rows[few], codes[few]))
    expected = reference(rows, codes, strength).predict_proba(rows)
    np.testing.assert_allclose(found(rows.astype(np.float64)), expected, atol=5e-3)


def test_soft_labels_are_learned_as_shares():
    rows, codes = data(120)
    targets = 0.7 * one_hot(codes) + 0.3 * one_hot((codes + 1) % CLASSES)
    found, strength = fit_linear_member(rows, targets, None, 0)
    wide = rows.astype(np.float64)
    expected = fit_posteriors(wide, targets.astype(np.float64), CLASSES, strength)(wide)
    np.testing.assert_allclose(found(wide), expected, atol=5e-3)
    hard = fit_posteriors(wide, codes, CLASSES, strength)(wide)
    assert np.abs(hard - expected).max() > 0.05


def test_features_that_tell_more_have_a_smaller_held_out_loss():
    (rows, codes), judges = data(160), data(200, seed=2)
    noise = generator(4, "noise").normal(size=rows.shape).astype(np.float32)
    clear = held_out_loss(rows, one_hot(codes), judges, 0)
    assert clear < 0.8 * held_out_loss(noise, one_hot(codes), (judges[0][:, ::-1].copy(), judges[1]), 0)
    scores = reference(rows, codes, 1e-2).decision_function(judges[0])
    expected = -log_softmax(scores, axis=1)[np.arange(len(judges[1])), judges[1]].mean()
    assert clear == pytest.approx(expected, rel=1e-2)
