"""The geometry of the report's charts; the templates turn it into SVG."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_COLOURS = 8  # how many the style sheet has


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
    """One panel of bars; `chance` is the place of the chance level."""

    title: str
    frame: Frame
    width: float
    height: float
    ticks: Sequence[tuple[float, str]]
    chance: float
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Line:
    """One method's curve: points as SVG wants them, and the numbers of its colour and of its dashes."""

    name: str
    points: str
    colour: int
    dashes: int


@dataclass(frozen=True)
class LineChart:
    """One panel of precision–recall curves."""

    title: str
    frame: Frame
    width: float
    height: float
    ticks_x: Sequence[tuple[float, str]]
    ticks_y: Sequence[tuple[float, str]]
    lines: Sequence[Line]


def bar_chart(title: str, blocks: Mapping[str, Mapping[str, Any]], chance: float) -> BarChart:
    """Draw the MAP of every method with its interval, best first."""
    names = sorted(blocks, key=lambda name: -blocks[name]["map"])
    width, row = 400.0, 26.0
    height = row * len(names) + 30
    labels = min(170.0, 14.0 + 7.8 * max(map(len, names)))
    frame = Frame(left=labels, right=width - 48, top=4, bottom=height - 24)
    limit, ticks = nice_axis(max([chance, *(blocks[name]["map_ci95"][1] for name in names)]))
    bars = [
        Bar(
            name=name,
            value=blocks[name]["map"],
            y=round(frame.top + row * (position + 0.5), 2),
            end=frame.x(blocks[name]["map"] / limit),
            low=frame.x(blocks[name]["map_ci95"][0] / limit),
            high=frame.x(blocks[name]["map_ci95"][1] / limit),
            best=position == 0,
        )
        for position, name in enumerate(names)
    ]
    places = [(frame.x(tick / limit), f"{tick:g}") for tick in ticks]
    return BarChart(title, frame, width, height, places, frame.x(chance / limit), bars)


def line_chart(title: str, curves: Mapping[str, Mapping[str, Sequence[float]]], highest: float) -> LineChart:
    """Draw the precision–recall curve of every method on an axis that holds the highest precision."""
    width, height = 460.0, 320.0
    frame = Frame(left=44, right=width - 12, top=10, bottom=height - 42)
    limit, ticks = nice_axis(highest)
    lines = [
        Line(name, _points(frame, curve, limit), number % _COLOURS, number // _COLOURS)
        for number, (name, curve) in enumerate(curves.items())
    ]
    across = [(frame.x(tick / 5), f"{tick / 5:g}") for tick in range(6)]
    return LineChart(title, frame, width, height, across, [(frame.y(t / limit), f"{t:g}") for t in ticks], lines)


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
