"""Charts of how a method's training went, from what its record holds under "monitoring"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diptych.experiments.charts import Frame, Line, LineChart, nice_axis, room_for

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

    purity = record.get("chance_purity")
    best = record.get("best_step")
    charts = [
        step_chart("Distances", lines(_DISTANCES), steps),
        step_chart(
            "Shares",
            lines(_SHARES),
            steps,
            highest=1.0,
            level=None if purity is None or not _values(lines(_SHARES)[_SHARES["edge_purity"]]) else purity,
        ),
        step_chart("Spread", lines({"spread": "standard deviation of embeddings"}), steps),
        step_chart("Validation", {"mean MAP": record.get("validations", [])}, steps, marked=best),
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
    margin = max(12.0, room_for(f"{ticks_x[-1]:g}"))
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
    """The places of a line as SVG wants them, cut where a value is missing; a point alone is drawn as a dot."""
    pieces: list[list[str]] = [[]]
    for step, value in points:
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{frame.x(step / across)},{frame.y(value / limit)}")
    return [" ".join(piece if len(piece) > 1 else piece * 2) for piece in pieces if piece]
