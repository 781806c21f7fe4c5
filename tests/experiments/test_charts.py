import math

from hypothesis import given
from hypothesis import strategies as st

from diptych.experiments.charts import bar_chart, line_chart, nice_axis


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


def test_more_lines_than_colours_differ_in_dashes():
    curves = {f"m{i}": {"recall": [0.0, 1.0], "precision": [0.5, 0.1]} for i in range(20)}
    chart = line_chart("a → b", curves, 0.5)
    assert len({(line.colour, line.dashes) for line in chart.lines}) == 20
    left, right = chart.lines[0].points.split()
    assert float(left.split(",")[0]) == chart.frame.left
    assert float(right.split(",")[0]) == chart.frame.right
