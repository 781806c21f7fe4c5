"""The page of the scripted curator says what was measured: whether the aim was reached, and what mistakes cost."""

from dataclasses import replace

import pytest
from benchmarks.teaching import Taught, _chosen, page

GOOD = Taught(30, 0, 41, 0.93, 10_000, 0.21, 75.0, {"class": 0.871, "both": 0.86, "partner": 0.4}, "cdmlmr", 7_000)


@pytest.mark.parametrize(("score", "said"), [(0.871, "reach"), (0.849, "do not reach")])
def test_the_aim_is_reached_or_not(score, said) -> None:
    best = replace(GOOD, map=GOOD.map | {"class": score})
    worse = replace(GOOD, wrong=9, map={"class": 0.6, "both": 0.5})
    written = page({"partner": 0.41}, [("one a class", best), ("one a class, 30 % wrong", worse)], 10_260, "command")
    assert f"{said} the aim of 0.85 ({score:.3f})" in written and "MAP **0.410**" in written
    assert f"9 wrong labels of 30 cost {score - 0.6:.3f}" in written
    assert "| one a class | 30 | 0 | 0.930 |" in written and "75 s |" in written


def test_the_curator_answers_for_the_first_items_of_each_class_it_is_asked_about() -> None:
    truth = {f"{number}": "ab"[number % 7 == 6] for number in range(20)}
    left, skipped = list(truth), []

    def server(method, path, body=None, **query):
        if method == "PUT":
            skipped.extend(body["items"])
            return {}
        asked = [item for item in left if item not in skipped][:4]
        return {"questions": [{"item": item} for item in asked]}

    assert _chosen(server, truth, 2) == (["0", "1", "6", "13"], 14)
