"""A label curve: one comparison for each label count, drawn and rendered as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diptych._core.arrays import Floats
from diptych._core.errors import ConfigError, DiptychError
from diptych._core.rendering import COLOURS, drawing_style, escape, new_figure, save_drawing, table
from diptych.data import Dataset, Protocol, training_data
from diptych.experiments.recipe import Recipe
from diptych.experiments.relevance import columns_of_scores, directions_of
from diptych.methods import registry

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LabelCount = int | None
"""A number of training labels per class; None for all of them."""

ALL_LABELS = "all"
"""How files and people call the count that withholds nothing."""


def sorted_counts(values: Iterable[int | str]) -> tuple[LabelCount, ...]:
    """Check label counts and put them in order, "all" last.

    >>> sorted_counts(["all", "10", 2])
    (2, 10, None)

    Raises:
        ConfigError: for a value that is neither a positive whole number nor "all", for one given twice and for none.
    """
    counts = [_count(value) for value in values]
    if not counts:
        raise ConfigError("there is no label count; give at least one, such as 1,5,all.")
    for count in counts:
        if counts.count(count) > 1:
            raise ConfigError(f"labels per class lists {show_count(count)} twice; keep each once.")
    return tuple(sorted(counts, key=lambda count: np.inf if count is None else count))


def show_count(count: LabelCount) -> str:
    """A label count as files and people call it."""
    return ALL_LABELS if count is None else str(count)


def json_count(count: LabelCount) -> int | str:
    """A label count as JSON."""
    return ALL_LABELS if count is None else count


def kept_labels(dataset: Dataset, count: LabelCount, seeds: Iterable[int]) -> float:
    """How many training labels a class really keeps, on average over classes and seeds.

    Small classes keep fewer than the count; where items carry several labels, a class can keep more.
    """
    kept = [
        training_data(dataset, Protocol(labels_per_class=count, seed=seed)).train.labels.class_counts().mean()
        for seed in seeds
    ]
    return float(np.mean(kept))


def places(counts: Sequence[int | str], kept_of_all: float) -> list[float]:
    """Where label counts lie on an axis: a number at itself, "all" at what it really keeps.

    Where that is not clearly to the right of the largest number, "all" is put half as far again to the right of it,
    so that the two can be told apart.
    """
    numbers = [float(count) for count in counts if count != ALL_LABELS]
    largest = max(numbers, default=0.0)
    last = kept_of_all if kept_of_all >= 1.3 * largest else 1.5 * largest
    return numbers + [max(last, 1.0)] * (len(counts) - len(numbers))


def _count(value: int | str) -> LabelCount:
    text = str(value).strip()
    if text == ALL_LABELS:
        return None
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise ConfigError(
            f"labels per class lists '{value}'; write positive whole numbers and '{ALL_LABELS}', such as 1,5,all."
        )
    return int(text)


PROPAGATED = " + propagation"
"""What the name of a method's second line ends in, where it is drawn with and without propagated labels."""


@dataclass(frozen=True)
class Step:
    """One comparison of a curve.

    Attributes:
        counts: the label counts it answers for.
        folder: where it is kept, inside the curve's folder.
        recipe: what it runs.
        words: what tells its runs from those of other steps; empty where a method runs in one step only.
        suffix: what is put behind its methods' names.
    """

    counts: tuple[LabelCount, ...]
    folder: str
    recipe: Recipe
    words: str = ""
    suffix: str = ""


def steps_of(recipe: Recipe, counts: Sequence[LabelCount], *, compare_propagation: bool = False) -> list[Step]:
    """Cut a curve into comparisons; methods that read no labels are fitted once for all counts.

    To compare with propagation, methods that read labels run twice at every count.

    Raises:
        ConfigError: when the recipe's protocol withholds labels itself.
    """
    protocol = recipe.protocol
    if protocol.withholds_labels:
        raise ConfigError("the protocol withholds labels already; a curve does so itself, so leave that setting out.")
    names = recipe.method_names
    steady = tuple(name for name in names if not _depends_on_count(name, protocol))
    varying = tuple(name for name in names if name not in steady)
    steps = [Step(tuple(counts), "label-free", replace(recipe, methods=steady))] if steady else []
    for count in counts if varying else ():
        seen = replace(protocol, labels_per_class=count)
        words = "all labels" if count is None else f"{count} label{'s' * (count > 1)} per class"
        plain = Step((count,), f"labels-{show_count(count)}", replace(recipe, methods=varying, protocol=seen), words)
        if not compare_propagation:
            steps.append(plain)
            continue
        steps.append(replace(plain, recipe=replace(plain.recipe, protocol=replace(seen, propagate=False))))
        readers = tuple(name for name in varying if registry.method_class(name).uses_labels)
        if readers:
            spread = replace(recipe, methods=readers, protocol=replace(seen, propagate=True))
            steps.append(Step((count,), f"{plain.folder}-propagated", spread, f"{words}, propagated", PROPAGATED))
    return steps


def _depends_on_count(name: str, protocol: Protocol) -> bool:
    """Whether a fit changes with the number of labels: it reads them or items that lost theirs, or chooses by them."""
    try:
        method = registry.method_class(name)
    except (DiptychError, ImportError):
        return False  # it cannot run at any count, and is said to fail once
    reads_pool = method.uses_unlabelled and protocol.unlabelled == "train"
    return method.uses_labels or reads_pool or protocol.withhold_validation


_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # not as many as colours, so that pairs repeat late


def write_plots(folder: Path, results: Mapping[str, Any]) -> None:
    """Write `curve.svg` and `curve.png`; the same results give the same bytes."""
    with drawing_style():
        figure = draw(results)
        for kind in ("svg", "png"):
            save_drawing(figure, folder / f"curve.{kind}")


def draw(results: Mapping[str, Any]) -> "Figure":
    """Draw lines of means, bands of 95% intervals over queries, whiskers of ± one deviation over seeds, and chance.

    A method with propagated labels has the colour it has without, a broken line and empty markers.
    """
    *directions, average = columns_of_scores(results)  # of many directions the Markdown has the others
    columns = [average, *directions]
    figure = new_figure(figsize=(1.7 + 3.4 * len(columns), 3.4), layout="constrained")
    panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    for axes, column in zip(panels, columns, strict=True):
        _panel(axes, results, column)
    panels[0].set_ylabel("MAP")
    figure.suptitle(f"{results['dataset']['name']}, split {results['split']}")
    (chance, *lines), (chance_name, *names) = panels[0].get_legend_handles_labels()
    figure.legend(
        [*lines, chance],
        [*names, chance_name],
        title="band: 95% over queries\nbars: ± deviation over seeds",
        title_fontsize="small",
        loc="outside right upper",
        frameon=False,
    )
    return figure


def _panel(axes: "Axes", results: Mapping[str, Any], column: str) -> None:
    counts, kept = results["labels_per_class"], results["kept_labels_per_class"]
    across = places(counts, kept[-1])
    level = results["chance"] if column == "average" else results["chance"][column]
    methods = list(dict.fromkeys(name.removesuffix(PROPAGATED) for name in results["methods"]))
    for name, block in results["methods"].items():
        number = methods.index(name.removesuffix(PROPAGATED))
        colour, marker = COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
        mean, low, high, spread = _series(block["points"], counts, column)
        axes.fill_between(across, low, high, color=colour, alpha=0.15, linewidth=0)
        look = {"linestyle": "--"} if block["label_free"] else {"marker": marker, "markersize": 4}
        if name.endswith(PROPAGATED):
            look |= {"linestyle": "-.", "markerfacecolor": "white"}
        axes.errorbar(across, mean, spread, color=colour, label=name, linewidth=1.4, capsize=2, **look)
    axes.axhline(level["map"], color="0.45", linestyle=":", label="random ranking")
    axes.set_xscale("log")
    axes.set_xlim(across[0] / 1.3, across[-1] * 1.3)
    axes.set_xticks(across, [f"all\n({kept[-1]:.0f})" if count == ALL_LABELS else str(count) for count in counts])
    axes.minorticks_off()
    axes.set_xlabel("training labels per class")
    axes.set_title(column.replace("->", " → "), fontsize=9)
    axes.grid(alpha=0.25, linewidth=0.5)


def _series(points: Sequence[Mapping[str, Any]], counts: Sequence[int | str], column: str) -> tuple[Floats, ...]:
    """Mean, both ends of the interval and the spread at every count; NaN, and so a gap, where there is no point."""
    known = {point["labels_per_class"]: point[column] for point in points}
    table = np.full((4, len(counts)), np.nan)
    for place, count in enumerate(counts):
        if count in known:
            scores = known[count]
            table[:, place] = (scores["map"], *scores["map_ci95"], scores["map_std_over_seeds"] or 0.0)
    return tuple(table)


_NOTES = (
    "A cell is the MAP, ± its standard deviation over seeds, and the 95 % interval over queries of the mean over "
    "seeds. The seed of a run decides which training labels are kept; "
)
_PROPAGATED = (
    " Propagated labels are part of the protocol: what a method gains by them is the propagation's, not the method's."
)


def render_curve_markdown(results: Mapping[str, Any]) -> str:
    """The plot, and one table for the average and each direction: a row a method, a column a label count."""
    columns = ["average", *directions_of(results)]
    lines = [
        f"# {escape(results['dataset']['name'])}, split {results['split']}: MAP by labels per class",
        "",
        f"Dataset `{results['dataset']['fingerprint']}`. Training saw: {results['protocol']['words']}. "
        f"Chance level: MAP {results['chance']['map']:.3f}.",
        "",
        _notes(results["protocol"]),
        "",
        "![MAP by labels per class](curve.svg)",
    ]
    for column in columns:
        lines += ["", f"## {escape(column.replace('->', ' → '))}", "", *_table(results, column)]
    lines += ["", "## What each method saw", ""]
    for name, block in results["methods"].items():
        saw = " / ".join(dict.fromkeys(point["saw"] for point in block["points"]))
        lines.append(f"- `{escape(name)}`: {saw}{' (no labels, so fitted once)' * block['label_free']}")
    if results["failures"]:
        lines += ["", "## Failures", "", *map(_failure, results["failures"])]
    if results["pending"]:
        lines += ["", f"Still to come: {', '.join(results['pending'])}."]
    return "\n".join(lines) + "\n"


def _notes(protocol: Mapping[str, Any]) -> str:
    validation = "withheld alike" if protocol["withhold_validation"] else "never withheld"
    return f"{_NOTES}validation labels are {validation}.{_PROPAGATED if protocol['propagate'] else ''}"


def _table(results: Mapping[str, Any], column: str) -> list[str]:
    counts = results["labels_per_class"]
    level = results["chance"] if column == "average" else results["chance"][column]
    kept = [f"{value:.4g}" for value in results["kept_labels_per_class"]]
    rows = []
    for name, block in results["methods"].items():
        points = {point["labels_per_class"]: point for point in block["points"]}
        rows.append([f"`{escape(name)}`", *(_cell(points.get(count), column) for count in counts)])
    rows.append(["random ranking", *[f"{level['map']:.3f}"] * len(counts)])
    return table(["labels per class", *map(str, counts)], [*rows, ["labels a class keeps, mean", *kept]])


def _cell(point: Mapping[str, Any] | None, column: str) -> str:
    if point is None:
        return "–"
    scores = point[column]
    low, high = scores["map_ci95"]
    spread = scores["map_std_over_seeds"]
    shown = "" if spread is None or point["deterministic"] else f" ± {spread:.3f}"
    return f"{scores['map']:.3f}{shown} ({low:.3f}–{high:.3f})"


def _failure(failure: Mapping[str, Any]) -> str:
    counts = ", ".join(map(str, failure["labels_per_class"]))
    return f"- `{escape(failure['method'])}` at labels per class {counts}: {escape(failure['reason'])}"
