"""How validation decides what the class code is made of: every choice is made again by hand."""

from dataclasses import replace

import numpy as np
import pytest

import synthetic
from diptych.data import training_data
from diptych.methods import create
from diptych.methods.deep.class_space import REGRESSION_WEIGHTS, TEMPERATURES, TOLERANCE
from diptych.methods.deep.regression_member import FEWEST_HELD_OUT
from diptych.methods.deep.towers import RegressionMember, padded, tempered
from diptych.methods.selection import Validation

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
    tried = [(trial["params"]["heads"], trial["params"]["regression_weight"]) for trial in trials]
    assert tried == [(heads, weight) for heads in HEADS for weight in REGRESSION_WEIGHTS]
    chosen = tuple(model.record_["chosen"]["heads"]), model.record_["chosen"]["regression_weight"]
    best = max(trial["score"] for trial in trials)
    near = [pair for pair, trial in zip(tried, trials, strict=True) if trial["score"] >= best - TOLERANCE / 120**0.5]
    assert chosen == near[0]
    regressions = {name: code.regression for name, code in codes.items()}
    assert all(regressions.values())  # a network of a few steps needs it
    for (heads, weight), trial in zip(tried, trials, strict=True):
        mixed = {
            name: replace(
                code,
                tower=replace(code.tower, heads=heads),
                regression=RegressionMember(regressions[name].posteriors, weight) if weight else None,
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
