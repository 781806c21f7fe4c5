import numpy as np
import pytest

from diptych.experiments.results import Comparisons


def test_each_is_compared_with_the_best():
    random = np.random.default_rng(0)
    best = random.random(200)
    scores = {"same": best + 0.001 * random.normal(size=200), "best": best + 0.01, "worse": best - 0.1}
    found = Comparisons().against_best(scores)
    assert found["best"] == "best"
    assert set(found["against_best"]) == {"same", "worse"}
    worse = found["against_best"]["worse"]
    assert worse["difference"] == pytest.approx(-0.11)
    assert worse["p_holm"] >= worse["p_value"]
    assert worse["p_holm"] < 0.01


def test_equal_methods_do_not_differ():
    scores = np.linspace(0, 1, 50)
    found = Comparisons().against_best({"a": scores, "b": scores.copy()})
    assert found["best"] == "a"
    assert found["against_best"]["b"]["p_holm"] == 1.0


def test_nothing_to_compare():
    assert Comparisons().against_best({})["against_best"] == {}
    assert Comparisons().against_best({"a": np.ones(3)})["best"] == "a"


def test_answers_are_remembered_only_for_the_same_scores():
    comparisons = Comparisons()
    first = comparisons.against_best({"a": np.ones(9), "b": np.zeros(9)})
    second = comparisons.against_best({"a": np.ones(9), "b": np.full(9, 0.5)})
    assert first["against_best"]["b"]["difference"] == -1.0
    assert second["against_best"]["b"]["difference"] == -0.5
