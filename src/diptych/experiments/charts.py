"""The geometry of the report's charts; the templates turn it into SVG."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MARKED = 6
"""How many methods have a colour of their own in a line chart; the style sheet has as many."""

_LABEL_STEP = 15.0
_CHARACTER = 7.2  # how wide one is drawn, about


@dataclass(frozen=True)
class Frame:
    """Where a drawing's axes lie, in its own units."""

    left: float
    right: float
    top: float
    bottom: float

    def x(self, share: float) -> float:
        """From a share of the horizontal axis to a place."""
        return round(self.left + share * (self.right - self.left), 2)

    def y(self, share: float) -> float:
        """From a share of the vertical axis to a place, upwards."""
        return round(self.bottom - share * (self.bottom - self.top), 2)


@dataclass(frozen=True)
class Bar:
    """One method's bar with its interval."""

    name: str
    value: float
    y: float
    end: float
    low: float
    high: float
    best: bool


@dataclass(frozen=True)
class BarChart:
    """One panel of bars; `chance` is the place of the chance level, None where there is none."""

    title: str
    frame: Frame
    width: float
    height: float
    ticks: Sequence[tuple[float, str]]
    chance: float | None
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes:
        name: what it is of.
        points: in SVG's notation.
        colour: the number of its colour; None for one among many, drawn in grey.
        end: where it ends, vertically.
        label: where its name stands beside its end, vertically; None for a line without.
    """

    name: str
    points: str
    colour: int | None
    end: float = 0.0
    label: float | None = None


@dataclass(frozen=True)
class LineChart:
    """One panel of lines."""

    title: str
    frame: Frame
    width: float
    height: float
    ticks_x: Sequence[tuple[float, str]]
    ticks_y: Sequence[tuple[float, str]]
    lines: Sequence[Line]


def bar_chart(
    title: str, blocks: Mapping[str, Mapping[str, Any]], chance: float | None, measure: str = "map"
) -> BarChart:
    """Draw a measure of every method with its interval, best first."""
    interval = f"{measure}_ci95"
    names = sorted(blocks, key=lambda name: -blocks[name][measure])
    width, row = 400.0, 26.0
    height = row * len(names) + 30
    labels = min(170.0, 14.0 + 7.8 * max(map(len, names)))
    frame = Frame(left=labels, right=width - 48, top=4, bottom=height - 24)
    limit, ticks = nice_axis(max([chance or 0.0, *(blocks[name][interval][1] for name in names)]))
    bars = [
        Bar(
            name=name,
            value=blocks[name][measure],
            y=round(frame.top + row * (position + 0.5), 2),
            end=frame.x(blocks[name][measure] / limit),
            low=frame.x(blocks[name][interval][0] / limit),
            high=frame.x(blocks[name][interval][1] / limit),
            best=position == 0,
        )
        for position, name in enumerate(names)
    ]
    places = [(frame.x(tick / limit), f"{tick:g}") for tick in ticks]
    level = None if chance is None else frame.x(chance / limit)
    return BarChart(title, frame, width, height, places, level, bars)


def line_chart(
    title: str, curves: Mapping[str, Mapping[str, Sequence[float]]], highest: float, marked: Sequence[str]
) -> LineChart:
    """Draw the precision–recall curve of every method on an axis that holds the highest precision.

    Args:
        title: of the panel.
        curves: recall and precision by method.
        highest: precision of all panels.
        marked: the methods that have a colour and their name beside the line, at most `MARKED`; others are grey.
    """
    width, height = 520.0, 320.0
    room = 12 + _CHARACTER * max([len(name) for name in marked], default=0)
    frame = Frame(left=44, right=width - min(170.0, 26 + room), top=10, bottom=height - 42)
    limit, ticks = nice_axis(highest)
    ends = {name: frame.y(curve["precision"][-1] / limit) for name, curve in curves.items()}
    labels = _spread({name: ends[name] for name in marked}, frame)
    others = [name for name in curves if name not in labels]
    lines = [
        Line(
            name,
            _points(frame, curves[name], limit),
            marked.index(name) if name in labels else None,
            ends[name],
            labels.get(name),
        )
        for name in (*others, *labels)  # those with a colour are drawn over the others
    ]
    across = [(frame.x(tick / 5), f"{tick / 5:g}") for tick in range(6)]
    return LineChart(title, frame, width, height, across, [(frame.y(t / limit), f"{t:g}") for t in ticks], lines)


def _spread(ends: Mapping[str, float], frame: Frame) -> dict[str, float]:
    """Where the names of lines stand, in the order of their ends and clear of each other."""
    names = sorted(ends, key=lambda name: ends[name])
    lowest = frame.bottom - _LABEL_STEP * (len(names) - 1)
    places: dict[str, float] = {}
    for number, name in enumerate(names):
        after = frame.top if not number else places[names[number - 1]] + _LABEL_STEP
        places[name] = round(max(after, min(ends[name], lowest + _LABEL_STEP * number)), 2)
    return places


def nice_axis(highest: float) -> tuple[float, list[float]]:
    """The end of an axis from 0 that holds the highest value, and round ticks on the way."""
    if highest <= 0:
        return 1.0, [0.0, 0.5, 1.0]
    magnitude = 10.0 ** math.floor(math.log10(highest))
    step = next(m * magnitude / 10 for m in (1, 2, 5, 10, 20) if m * magnitude / 10 * 6 >= highest)
    count = math.ceil(highest / step - 1e-9)
    return count * step, [round(number * step, 10) for number in range(count + 1)]


def _points(frame: Frame, curve: Mapping[str, Sequence[float]], limit: float) -> str:
    pairs = zip(curve["recall"], curve["precision"], strict=True)
    return " ".join(f"{frame.x(recall)},{frame.y(precision / limit)}" for recall, precision in pairs)


Points = Sequence[tuple[float, float | None]]
"""Steps done and a value; None where there was no value."""

_WIDTH, _HEIGHT = 420.0, 250.0


@dataclass(frozen=True)
class StepChart:
    """One panel over the steps of training.

    Attributes:
        chart: its axes and lines; a line with gaps comes in several pieces of one name.
        reading: how to read it.
        legend: the name of each line with its colour.
        level: the place of a dashed level, and its name.
        marked: the place of a step that matters, and its name.
    """

    chart: LineChart
    reading: str
    legend: Sequence[tuple[str, int]]
    level: tuple[float, str] | None = None
    marked: tuple[float, str] | None = None


_DISTANCES = {"similar_distance": "similar pairs", "dissimilar_distance": "dissimilar pairs"}
_SHARES = {
    "active_hinges": "dissimilar pairs within the margin",
    "active_quadruplets": "quadruplets that break their margin",
    "edge_purity": "edges of the graph that join a class",
}
_READINGS = {
    "Distances": "The two lines should part: similar pairs draw together, dissimilar ones move away. Both falling to "
    "zero means that all embeddings become one.",
    "Shares": "The first two fall as margins are kept: near zero from the start, there is nothing left to learn from. "
    "Edges near the dashed chance level say nothing about classes, and then unlabelled pairs are noise.",
    "Spread": "How much embeddings differ within a batch, in the branch where they differ least. At zero they have "
    "collapsed, and training stops with an error.",
    "Validation": "The score that decides which weights are kept: those of the dotted step. Falling after it is "
    "overfitting; rising to the end asks for more steps.",
}


def monitored_charts(record: Mapping[str, Any]) -> list[StepChart]:
    """Draw what a record holds under "monitoring"; a panel without a single value is left out."""
    rows, steps = record.get("rows", []), float(record.get("steps") or 1)

    def lines(names: Mapping[str, str]) -> dict[str, Points]:
        return {title: [(row["step"], row.get(name)) for row in rows] for name, title in names.items()}

    has_purity = bool(_values(lines(_SHARES)[_SHARES["edge_purity"]]))
    purity = record.get("chance_purity") if has_purity else None
    charts = [
        step_chart("Distances", lines(_DISTANCES), steps),
        step_chart("Shares", lines(_SHARES), steps, highest=1.0, level=purity),
        step_chart("Spread", lines({"spread": "standard deviation of embeddings"}), steps),
        step_chart("Validation", {"mean MAP": record.get("validations", [])}, steps, marked=record.get("best_step")),
    ]
    return [chart for chart in charts if chart is not None]


def step_chart(
    title: str,
    series: Mapping[str, Points],
    steps: float,
    *,
    highest: float | None = None,
    level: float | None = None,
    marked: float | None = None,
) -> StepChart | None:
    """Draw series over steps; None without any value.

    Args:
        title: of the panel.
        series: points by name.
        steps: where the horizontal axis ends, at least.
        highest: where the vertical axis ends, at least; None for the highest value.
        level: the chance level.
        marked: the step whose weights were kept.
    """
    drawn = {name: points for name, points in series.items() if _values(points)}
    if not drawn:
        return None
    across, ticks_x = nice_axis(steps)
    top = max(value for points in drawn.values() for value in _values(points))
    limit, ticks_y = nice_axis(max(top, highest or 0.0))
    colours = {name: place for place, name in enumerate(series) if name in drawn}
    margin = max(12.0, 6 + _CHARACTER * len(f"{ticks_x[-1]:g}") / 2)  # the last tick's label is centred at the end
    frame = Frame(left=44, right=_WIDTH - margin, top=10, bottom=_HEIGHT - 42)
    chart = LineChart(
        title,
        frame,
        _WIDTH,
        _HEIGHT,
        [(frame.x(tick / across), f"{tick:g}") for tick in ticks_x],
        [(frame.y(tick / limit), f"{tick:g}") for tick in ticks_y],
        [
            Line(name, piece, colours[name])
            for name, points in drawn.items()
            for piece in _pieces(frame, points, across, limit)
        ],
    )
    return StepChart(
        chart,
        _READINGS[title],
        list(colours.items()),
        None if level is None else (frame.y(level / limit), f"chance level {level:.3f}"),
        None if marked is None else (frame.x(marked / across), f"weights kept: step {marked:g}"),
    )


def _values(points: Points) -> list[float]:
    return [value for _, value in points if value is not None]


def _pieces(frame: Frame, points: Points, across: float, limit: float) -> list[str]:
    """The points of a line in SVG's notation, cut where a value is missing; a point alone is drawn as a dot."""
    pieces: list[list[str]] = [[]]
    for step, value in points:
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{frame.x(step / across)},{frame.y(value / limit)}")
    return [" ".join(piece if len(piece) > 1 else piece * 2) for piece in pieces if piece]
