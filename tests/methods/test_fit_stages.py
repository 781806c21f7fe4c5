"""The stages of a fit in plain words, and all of them as one."""

import pytest

from diptych._core.progress import LEARNING, WholeFit, stage_in_words, validation_figures
from diptych.data import Protocol
from diptych.methods import create

STAGES = ["image RBM 1", "image RBM 2", "text RBM 1", "text RBM 2", "network", "linear member", "partner space"]


def told(stages):
    heard = []
    whole = WholeFit(lambda *report: heard.append(report), ("image", "text"))
    for stage in stages:
        for done in (0, 5, 10):
            whole(stage, done, 10, {"loss": 3.0, "validation": 0.25})
    return heard


def test_the_whole_goes_from_nothing_to_a_hundred_and_never_back():
    heard = told(STAGES)
    shares = [done for _, done, _, _ in heard]
    assert {(stage, total) for stage, _, total, _ in heard} == {(LEARNING, 100)}
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] == 100
    assert len(set(shares)) > 12


def test_stages_from_the_cache_are_behind():
    assert told(["network"])[0][1] == 15
    assert told(["partner space", "image RBM 1"])[-1][1] == 100
    assert told(["something new"])[-1][1] == 0


def test_only_what_validation_says_is_passed_on():
    assert told(["network"])[-1][3] == {"validation score": 0.25}
    assert validation_figures({"reconstruction_error": 0.7, "validation MAP": 0.5}) == {"validation MAP": 0.5}
    assert validation_figures({"loss": 1.0}) is None is validation_figures(None)


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("KCCA search", "trying settings, trial 3 of 6"),
        ("choosing projections", "trying settings, trial 3 of 6"),
        ("partner space", "trying settings, trial 3 of 6"),
        ("CCA3V axes", "looking at the features, 50%"),
        ("voice over RBM 2", "looking at voice over features, part 2 of 2, 50%"),
        ("label propagation", "spreading labels, 50%"),
        ("bimodal autoencoder", "bimodal autoencoder, 50%"),
        ("scoring", "scoring, 50%"),
    ],
)
def test_stages_are_told_in_plain_words(stage, words):
    assert stage_in_words(stage, 3, 6) == words
    assert "RBM" not in words


@pytest.mark.usefixtures("hurried")
def test_a_fit_of_cdmlmr_is_told_as_one(counts_dataset):
    heard = []
    create("cdmlmr", cache=None).fit(counts_dataset, Protocol(), progress=lambda *report: heard.append(report))
    assert {report[0] for report in heard} == {LEARNING}
    assert heard[-1][1] == 100
