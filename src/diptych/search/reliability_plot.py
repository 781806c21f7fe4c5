"""Reliability as a drawing: what was said against what was seen, a panel for each way of asking."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diptych._core.drawing import COLOURS
from diptych.search.calibration import Calibration
from diptych.search.reliability import TOP

_ACROSS = 3
_SERIES = {"all_pairs": "all pairs", f"top_{TOP}": f"the best {TOP} results"}


def draw_reliability(calibration: Calibration) -> Figure:
    """Draw the curves of all directions that were judged; a marker's area is the share of pairs in its bin."""
    judged = {
        _title(each.purpose, query, gallery): facts["test"]
        for each in calibration.each()
        for (query, gallery), facts in each.facts.items()
        if "test" in facts
    }
    rows = -(-len(judged) // _ACROSS)
    figure = Figure(figsize=(2.6 * _ACROSS, 2.7 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, _ACROSS, sharex=True, sharey=True, squeeze=False)
    for axes in panels.flat[len(judged) :]:
        axes.set_visible(False)
    for axes, (title, found) in zip(panels.flat, judged.items(), strict=False):
        _panel(axes, found)
        axes.set_title(title, fontsize=9)
    figure.supxlabel("probability that was said", fontsize=9)
    figure.supylabel("share that belonged, test items", fontsize=9)
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    return figure


def _title(purpose: str | None, query: str, gallery: str) -> str:
    return f"{query} → {gallery}" if purpose is None else f"{purpose}: {query} → {gallery}"


def _panel(axes: Axes, found: Mapping[str, Any]) -> None:
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle=":")
    for colour, (key, name) in zip(COLOURS, _SERIES.items(), strict=False):
        curve = found[key]["curve"]
        said, seen = ([point[axis] for point in curve] for axis in ("probability", "frequency"))
        axes.plot(said, seen, color=colour, linewidth=1.0, label=name)
        axes.scatter(said, seen, s=[6 + 120 * point["share"] for point in curve], color=colour, alpha=0.6, linewidth=0)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.grid(alpha=0.25, linewidth=0.5)
