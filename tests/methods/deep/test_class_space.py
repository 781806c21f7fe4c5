"""How validation decides what the class code is made of: every choice is made again by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

import synthetic
from diptych._core.seeding import generator
from diptych.data import training_data
from diptych.methods import create
from diptych.methods.deep.class_space import (
    FEWEST_HELD_OUT,
    LINEAR_WEIGHTS,
    STRENGTHS,
    TEMPERATURES,
    TOLERANCE,
    _path,
    _posteriors,
    fit_linear_member,
    held_out_loss,
)
from diptych.methods.deep.towers import LinearMember, padded, tempered
from diptych.methods.selection import Validation
from diptych.methods.semantic.posteriors import fit_posteriors

HEADS = [("net", "shared", "contrastive", "quadruplet"), ("contrastive", "quadruplet")]


@pytest.fixture
def judged(hurried, tmp_path):
    """A dataset with many validation items, and a model fitted on it."""
    draft = synthetic.draft(counts={"train": 90, "val": FEWEST_HELD_OUT + 20, "test": 12})
    dataset = synthetic.write(tmp_path / "judged", draft)
    model = create("cdmlmr", profile="fast", partner_space=False, device="cpu", cache=None).fit(dataset)
    return dataset, model


def test_the_choice_is_the_first_of_those_that_validation_hardly_tells_apart(judged):
    dataset, model = judged
    validation = Validation.of(training_data(dataset))
    codes = {name: chain[0] for name, chain in model.chains_.items()}
    trials = model.record_["selection"]
    tried = [(trial["params"]["heads"], trial["params"]["linear_weight"]) for trial in trials]
    assert tried == [(heads, weight) for heads in HEADS for weight in LINEAR_WEIGHTS]
    chosen = tuple(model.record_["chosen"]["heads"]), model.record_["chosen"]["linear_weight"]
    best = max(trial["score"] for trial in trials)
    near = [pair for pair, trial in zip(tried, trials, strict=True) if trial["score"] >= best - TOLERANCE / 120**0.5]
    assert chosen == near[0]
    linear = {name: code.linear for name, code in codes.items()}
    assert all(linear.values())  # a network of a few steps needs it
    for (heads, weight), trial in zip(tried, trials, strict=True):
        mixed = {
            name: replace(
                code,
                tower=replace(code.tower, heads=heads),
                linear=LinearMember(linear[name].posteriors, weight) if weight else None,
                temperature=1.0,
            ).probabilities(validation.rows[name])
            for name, code in codes.items()
        }
        assert trial["score"] == pytest.approx(validation.score(mixed, "dot"), abs=1e-9)


def test_the_temperature_is_where_validation_classes_are_most_probable(judged):
    dataset, model = judged
    validation = training_data(dataset).validation
    for name, chain in model.chains_.items():
        plain = replace(chain[0], temperature=1.0).probabilities(validation.features(name))
        losses = []
        for temperature in TEMPERATURES:
            powers = plain ** (1 / temperature)
            own = (powers / powers.sum(axis=1, keepdims=True))[np.arange(len(plain)), validation.labels.codes]
            losses.append(-np.log(own).mean())
        expected = TEMPERATURES[int(np.argmin(losses))]
        assert chain[0].temperature == model.record_["chosen"]["temperatures"][name] == expected
    assert min(model.record_["chosen"]["temperatures"].values()) < 1  # cautious guesses were sharpened


@pytest.mark.usefixtures("hurried")
def test_where_validation_items_are_few_nothing_is_sharpened(counts_dataset):
    model = create("cdmlmr", profile="fast", partner_space=False, device="cpu", cache=None).fit(counts_dataset)
    assert model.record_["chosen"]["temperatures"] == {"image": 1.0, "text": 1.0}


def test_a_temperature_changes_how_sure_probabilities_are_and_not_their_order():
    rows = np.array([[0.7, 0.2, 0.1], [0.4, 0.35, 0.25], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(tempered(rows, 1.0), rows)
    sharp, soft = tempered(rows, 0.5), tempered(rows, 2.0)
    np.testing.assert_allclose(sharp[0], np.array([0.49, 0.04, 0.01]) / 0.54)
    for found in (sharp, soft):
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert (np.argsort(found[:2]) == np.argsort(rows[:2])).all()
        np.testing.assert_allclose(np.linalg.norm(padded(found, 0, 2), axis=1), 1.0, atol=1e-6)
    assert (sharp[:2].max(axis=1) > rows[:2].max(axis=1)).all() and (soft.max(axis=1) < rows.max(axis=1) + 1e-9).all()


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
    (rows, codes), judges = data(160, spread=spread), data(FEWEST_HELD_OUT + 20, seed=2, spread=spread)
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


@pytest.mark.parametrize("judges", [None, FEWEST_HELD_OUT - 1])
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
