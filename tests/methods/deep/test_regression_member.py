"""The regression inside CDMLMR: solutions against scikit-learn, and a kernel where classes ask for one."""

from functools import partial
from itertools import islice

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from diptych._core.seeding import generator
from diptych.methods.deep import regression_member
from diptych.methods.deep.regression_member import (
    FEWEST_HELD_OUT,
    STRENGTHS,
    _path,
    fit_regression_member,
    held_out_loss,
)
from diptych.methods.linear import kernels
from diptych.methods.linear.kernels import GaussianFeatures
from diptych.methods.semantic.posteriors import Posteriors, fit_posteriors

CLASSES, COLUMNS = 4, 12


def data(count, seed=0, spread=1.5):
    random = generator(seed, "linear member test")
    centres = np.random.default_rng(7).normal(size=(CLASSES, COLUMNS))
    codes = np.arange(count) % CLASSES
    rows = centres[codes] + spread * random.normal(size=(count, COLUMNS))
    return rows.astype(np.float32), codes


def one_hot(codes):
    return np.eye(codes.max() + 1, dtype=np.float32)[codes]


def heard(drawn):
    """Held-out rows with their class numbers, as a fit takes them."""
    return None if drawn is None else (drawn[0], one_hot(drawn[1]))


def fit(rows, targets, held_out, seed, **options):
    return fit_regression_member(rows, targets, heard(held_out), seed, **{"with_kernel": False, **options})


def reference(rows, codes, strength):
    return LogisticRegression(C=1.0 / (len(rows) * strength), max_iter=2000, tol=1e-8).fit(rows, codes)


def test_every_solution_on_the_path_is_scikit_learns():
    rows, codes = data(200)
    others, _ = data(50, seed=1)
    path = _path(torch.from_numpy(rows), torch.from_numpy(one_hot(codes)), STRENGTHS)
    for strength, solution in zip(STRENGTHS, path, strict=True):
        expected = reference(rows, codes, strength).predict_proba(others)
        np.testing.assert_allclose(
            softmax(others @ solution[0].numpy() + solution[1].numpy(), axis=1), expected, atol=5e-3
        )
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
    (rows, codes), judges = data(160, spread=spread), data(FEWEST_HELD_OUT + 20, seed=2, spread=spread)
    found, choice = fit(rows, one_hot(codes), judges, 0)
    strength = choice.strength
    assert strength == naive_choice(rows, codes, judges)
    expected = reference(rows, codes, strength).predict_proba(judges[0])
    np.testing.assert_allclose(found(judges[0].astype(np.float64)), expected, atol=5e-3)


def test_easy_classes_get_a_weaker_penalty_than_hard_ones():
    strengths = []
    for spread in (0.8, 3.0):
        (rows, codes), judges = data(160, spread=spread), data(200, seed=2, spread=spread)
        strengths.append(fit(rows, one_hot(codes), judges, 0)[1].strength)
    assert strengths[0] < strengths[1]


def correlated(count, seed):
    """Features that are nearly copies of each other: what tells the classes apart is in their small differences."""
    random = generator(seed, "correlated")
    common, own = random.normal(size=(count, 1)), random.normal(size=(count, COLUMNS))
    return (common + 0.05 * own).astype(np.float32), own[:, :CLASSES].argmax(axis=1)


def test_a_penalty_is_as_weak_as_correlated_features_ask_for():
    """As weak as those `sm` tries: the regression inside the network contains that method's solution."""
    (rows, codes), judges = correlated(600, 0), correlated(200, 1)
    found, choice = fit(rows, one_hot(codes), judges, 0)
    assert choice.strength < 1e-3
    known, middle = found(judges[0].astype(np.float64)), reference(rows, codes, 1e-3).predict_proba(judges[0])
    own, others = (-np.log(each[np.arange(len(each)), judges[1]]).mean() for each in (known, middle))
    assert own < 0.8 * others


def test_a_penalty_is_as_strong_as_labels_without_meaning_ask_for():
    (rows, _), (others, _) = data(160), data(200, seed=2)
    guesses = np.random.default_rng(0)
    nonsense, judged = (np.r_[np.arange(CLASSES), guesses.integers(CLASSES, size=n - CLASSES)] for n in (160, 200))
    assert fit(rows, one_hot(nonsense), (others, judged), 0)[1].strength > 0.1


def test_weaker_penalties_are_not_tried_once_held_out_rows_lose(monkeypatch):
    losses = iter([0.9, 0.5, 0.501, 0.4, 0.6])
    monkeypatch.setattr(regression_member, "_loss", lambda solution, *held_out: next(losses))
    assert fit(*_targets(data(40)), data(FEWEST_HELD_OUT), 0)[1].strength == STRENGTHS[3]
    assert not list(losses)


def test_of_many_rows_every_second_penalty_is_tried(monkeypatch):
    monkeypatch.setattr(regression_member, "MANY_ROWS", 160)
    (rows, codes), judges = data(160), data(FEWEST_HELD_OUT, seed=2)
    assert fit(rows, one_hot(codes), judges, 0)[1].strength in STRENGTHS[::2]
    wanted = fit(rows[:159], one_hot(codes[:159]), judges, 0)[1].strength
    assert wanted in STRENGTHS[1::2]


@pytest.mark.parametrize("judges", [None, FEWEST_HELD_OUT - 1])
def test_where_validation_is_small_a_fifth_of_the_training_rows_judges(judges):
    """The rows of a small validation are not looked at, and the solution is one on all training rows."""
    rows, codes = data(150)
    held_out = None
    if judges is not None:
        others, labels = data(judges, seed=3)
        held_out = others, (labels + 1) % CLASSES  # nonsense: whoever read it would choose the strongest penalty
    found, choice = fit(rows, one_hot(codes), held_out, 5)
    part = generator(5, "linear member").permutation(len(rows))
    few, most = part[: len(rows) // 5], part[len(rows) // 5 :]
    strength = choice.strength
    assert strength == naive_choice(rows[most], codes[most], (rows[few], codes[few]))
    expected = reference(rows, codes, strength).predict_proba(rows)
    np.testing.assert_allclose(found(rows.astype(np.float64)), expected, atol=5e-3)


def test_soft_labels_are_learned_as_shares():
    rows, codes = data(120)
    targets = 0.7 * one_hot(codes) + 0.3 * one_hot((codes + 1) % CLASSES)
    found, choice = fit(rows, targets, None, 0)
    strength = choice.strength
    wide = rows.astype(np.float64)
    expected = fit_posteriors(wide, targets.astype(np.float64), CLASSES, strength)(wide)
    np.testing.assert_allclose(found(wide), expected, atol=5e-3)
    hard = fit_posteriors(wide, codes, CLASSES, strength)(wide)
    assert np.abs(hard - expected).max() > 0.05


def test_features_that_tell_more_have_a_smaller_held_out_loss():
    (rows, codes), judges = data(160), data(200, seed=2)
    noise = generator(4, "noise").normal(size=rows.shape).astype(np.float32)
    clear = held_out_loss(rows, one_hot(codes), heard(judges), 0)
    assert clear < 0.8 * held_out_loss(noise, one_hot(codes), heard((judges[0][:, ::-1].copy(), judges[1])), 0)
    scores = reference(rows, codes, 1e-2).decision_function(judges[0])
    expected = -log_softmax(scores, axis=1)[np.arange(len(judges[1])), judges[1]].mean()
    assert clear == pytest.approx(expected, rel=1e-2)


def rings(count, seed=0):
    """Two classes, one around the other: no plane divides them."""
    random = generator(seed, "rings")
    codes = np.arange(count) % 2
    directions = random.normal(size=(count, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rows = directions * (1 + codes)[:, None] + 0.1 * random.normal(size=(count, 5))
    return rows.astype(np.float32), codes


def test_gaussian_features_have_the_centred_kernel_as_their_inner_products():
    rows = data(120)[0]
    mapped = GaussianFeatures.of(rows, 2.0, 0)(rows).astype(np.float64)
    distances = np.linalg.norm(rows[:, None] - rows[None], axis=2)[np.triu_indices(len(rows), 1)]
    kernel = rbf_kernel(rows, gamma=2.0 / np.median(distances) ** 2)
    middle = np.eye(len(rows)) - 1 / len(rows)
    expected = middle @ kernel @ middle
    scale = COLUMNS * len(rows) / np.trace(expected)
    np.testing.assert_allclose(mapped @ mapped.T, scale * expected, atol=2e-3 * scale)
    assert np.square(mapped).sum(axis=1).mean() == pytest.approx(COLUMNS, rel=1e-3)


def test_what_is_kept_of_a_kernel_regression_is_the_regression_on_its_features(monkeypatch):
    monkeypatch.setattr(kernels, "MOST_LANDMARKS", 40)
    (rows, codes), judges = rings(150), rings(FEWEST_HELD_OUT, seed=1)
    found, choice = fit(rows, one_hot(codes), judges, 3, with_kernel=True)
    features = GaussianFeatures.of(rows, choice.sharpness, 3)
    assert found.landmarks.shape == (40, 5)
    path = _path(*map(torch.from_numpy, (features(rows), one_hot(codes))), STRENGTHS)
    weight, bias = next(islice(path, STRENGTHS.index(choice.strength), None))
    expected = Posteriors(weight.double().numpy(), bias.double().numpy())(features(judges[0]).astype(np.float64))
    np.testing.assert_allclose(found(judges[0].astype(np.float64)), expected, atol=1e-4)


@pytest.mark.parametrize("judges", [None, FEWEST_HELD_OUT])
def test_a_kernel_is_taken_where_no_plane_divides_the_classes_and_only_there(judges):
    held_out = partial(lambda make, count: None if count is None else make(count, seed=2), count=judges)
    others, answers = rings(200, seed=3)
    found, choice = fit(*_targets(rings(300)), held_out(rings), 0, with_kernel=True)
    assert choice.sharpness is not None
    assert (found(others.astype(np.float64)).argmax(axis=1) == answers).mean() > 0.9
    plain = fit(*_targets(rings(300)), held_out(rings), 0)[0]
    assert (plain(others.astype(np.float64)).argmax(axis=1) == answers).mean() < 0.7
    random = np.random.default_rng(0)
    wide = random.normal(size=(600, 30)).astype(np.float32)
    ruled = (wide @ random.normal(size=30) > 0).astype(np.int64)
    judged = None if judges is None else (wide[500:], ruled[500:])
    assert fit(wide[:500], one_hot(ruled[:500]), judged, 0, with_kernel=True)[1].sharpness is None


def _targets(drawn):
    return drawn[0], one_hot(drawn[1])


def test_rows_that_are_all_alike_have_a_regression_too():
    rows, codes = np.ones((40, 3), dtype=np.float32), np.arange(40) % 2
    found, _ = fit_regression_member(rows, one_hot(codes), None, 0)
    np.testing.assert_allclose(found(rows[:2].astype(np.float64)), 0.5, atol=0.05)
