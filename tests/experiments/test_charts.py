"""The geometry of the report's charts."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from diptych.experiments.charts import MARKED, bar_chart, line_chart, nice_axis, step_chart


@given(st.floats(min_value=1e-6, max_value=1.0))
def test_an_axis_holds_its_highest_value_with_few_round_ticks(highest):
    limit, ticks = nice_axis(highest)
    assert highest <= limit * (1 + 1e-9)
    assert limit <= 2 * highest * (1 + 1e-9) or len(ticks) <= 3
    assert ticks[0] == 0
    assert math.isclose(ticks[-1], limit)
    assert 2 <= len(ticks) <= 7


def test_an_empty_axis_goes_to_one():
    assert nice_axis(0.0) == (1.0, [0.0, 0.5, 1.0])


def test_bars_stand_in_order_and_in_proportion():
    blocks = {"low": {"map": 0.2, "map_ci95": [0.1, 0.3]}, "high": {"map": 0.4, "map_ci95": [0.35, 0.5]}}
    chart = bar_chart("average", blocks, chance=0.1)
    assert [(bar.name, bar.best) for bar in chart.bars] == [("high", True), ("low", False)]
    first, second = chart.bars
    assert math.isclose(first.end - chart.frame.left, 2 * (second.end - chart.frame.left), rel_tol=1e-3)
    assert math.isclose(chart.chance, second.low)
    assert first.low < first.end < first.high <= chart.frame.right


def curves(count):
    """Curves that all end in nearly the same place."""
    return {f"m{i}": {"recall": [0.0, 1.0], "precision": [0.5, 0.1 + i / 1000]} for i in range(count)}


def test_of_many_lines_a_few_have_a_colour_and_their_name():
    marked = ["m3", "m7", "m1", "m19", "m0", "m12"]
    chart = line_chart("a → b", curves(20), 0.5, marked)
    named = {line.name: line for line in chart.lines if line.colour is not None}
    assert set(named) == set(marked) and {line.colour for line in named.values()} == set(range(MARKED))
    assert [line.colour for line in chart.lines[:14]] == [None] * 14  # drawn first, so that they hide nothing
    left, right = chart.lines[0].points.split()
    assert float(left.split(",")[0]) == chart.frame.left
    assert float(right.split(",")[0]) == chart.frame.right


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=MARKED))
def test_names_stand_in_the_order_of_the_lines_and_clear_of_each_other(ends):
    drawn = {f"m{i}": {"recall": [0.0, 1.0], "precision": [0.5, end]} for i, end in enumerate(ends)}
    chart = line_chart("a → b", drawn, 1.0, list(drawn))
    places = sorted(((line.end, line.label) for line in chart.lines), key=lambda place: place[1])
    assert [end for end, _ in places] == sorted(end for end, _ in places)
    assert all(below - above > 14.9 for (_, above), (_, below) in pairwise(places))
    assert all(chart.frame.top <= label <= chart.frame.bottom + 0.01 for _, label in places)


def test_the_longest_name_has_room_beside_the_lines():
    chart = line_chart("a → b", {"multimodal-dbn": curves(1)["m0"]}, 0.5, ["multimodal-dbn"])
    assert chart.width - chart.frame.right > 7 * len("multimodal-dbn") + 18


@given(st.integers(1, 10**9))
def test_the_label_of_the_last_tick_is_not_cut_off(steps):
    """Labels are centred at their ticks and about seven units a character wide."""
    panels = [
        step_chart("Spread", {"spread": [(1, 0.1), (steps, 0.2)]}, steps).chart,
        line_chart("a → b", curves(2), 0.5, []),
        bar_chart("a → b", {"cca": {"map": 0.3, "map_ci95": (0.2, 0.4)}}, 0.1),
    ]
    for panel in panels:
        place, label = (panel.ticks_x if hasattr(panel, "ticks_x") else panel.ticks)[-1]
        assert place + 7 * len(label) / 2 <= panel.width
