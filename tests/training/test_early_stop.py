import json

import pytest

from diptych.training.stopping import EarlyStop


def follow(stop, scores):
    bests = []
    for step, score in enumerate(scores, start=1):
        if stop.update(step, score):
            bests.append(step)
        if stop.exhausted:
            return step, bests
    return None, bests


def test_stops_after_patience_evaluations_without_improvement():
    assert follow(EarlyStop(patience=3), [1, 2, 2, 1, 2, 5]) == (5, [1, 2])


def test_improvement_starts_patience_again():
    assert follow(EarlyStop(patience=2), [1, 0, 2, 0, 3, 0, 0, 9]) == (7, [1, 3, 5])


def test_small_steps_are_kept_but_do_not_buy_patience():
    stop = EarlyStop(patience=3, minimum_improvement=0.5)
    assert follow(stop, [1.0, 1.2, 1.3, 1.4, 1.45]) == (4, [1, 2, 3, 4])
    assert (stop.best_score, stop.best_step) == (1.4, 4)


def test_small_steps_that_add_up_count():
    assert follow(EarlyStop(patience=2, minimum_improvement=0.5), [1.0, 1.3, 1.6, 1.9, 2.2]) == (None, [1, 2, 3, 4, 5])


def test_without_patience_it_never_stops():
    assert follow(EarlyStop(), [3] * 100) == (None, [1])


@pytest.mark.parametrize("seen", [[], [1.0, 0.5, 2.0, 1.9]])
def test_survives_json(seen):
    stop, copy = EarlyStop(patience=4), EarlyStop(patience=4)
    follow(stop, seen)
    copy.restore(json.loads(json.dumps(stop.to_json())))
    assert copy == stop
