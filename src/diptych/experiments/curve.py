"""Score methods with increasing numbers of training labels: a series of resumable comparisons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from diptych._core.files import write_json, write_text
from diptych._core.rendering import drawing_style
from diptych.data import Dataset
from diptych.evaluation import seed_spread
from diptych.experiments.compare import Callbacks, compare_methods, locked
from diptych.experiments.curve_results import (
    PROPAGATED,
    LabelCount,
    Step,
    json_count,
    kept_labels,
    render_curve_markdown,
    show_count,
    sorted_counts,
    steps_of,
    write_plots,
)
from diptych.experiments.recipe import Recipe, plan, suited
from diptych.experiments.run_store import read_scores

_SCORES = ("map", "map_ci95", "map@50", "map@50_ci95")
_ABOUT = ("seeds", "deterministic", "saw", "fit_seconds", "chosen")


class CurveTally:
    """Collect finished steps, and say at any time what is known."""

    def __init__(
        self, recipe: Recipe, counts: Sequence[LabelCount], kept: Sequence[float], steps: Sequence[Step]
    ) -> None:
        self._recipe, self._counts, self._kept = recipe, tuple(counts), tuple(kept)
        self._waiting = list(steps)
        self._compares_propagation = any(step.suffix for step in steps)
        self._head: dict[str, Any] = {}
        self._points: dict[tuple[str, LabelCount], dict[str, Any]] = {}
        self._steady: set[str] = set()
        self._failed: dict[tuple[str, str], list[LabelCount]] = {}

    def finish(self, step: Step, results: Mapping[str, Any], folder: Path) -> None:
        """Count a finished comparison in; its runs lie in `folder`."""
        self._waiting.remove(step)
        self._head = {name: results[name] for name in ("dataset", "split", "chance", "environment")}
        directions = [name for name in results["chance"] if "->" in name]
        for name, block in results["methods"].items():
            point = _point(block, directions, folder) | {"folder": step.folder}
            self._points |= {(name + step.suffix, count): point for count in step.counts}
        for name, reason in results["failures"].items():
            self._failed.setdefault((name + step.suffix, reason), []).extend(step.counts)
        if not step.words:
            self._steady |= set(step.recipe.method_names)

    def results(self) -> dict[str, Any]:
        """All that is known so far; "pending" lists the folders of the steps still to come."""
        return self._head | {
            "protocol": self._describe_protocol(),
            "labels_per_class": [json_count(count) for count in self._counts],
            "kept_labels_per_class": list(self._kept),
            "methods": {
                name: {"label_free": name in self._steady, "points": points}
                for method in self._recipe.method_names
                for name in (method, method + PROPAGATED)
                if (points := self._points_of(name))
            },
            "failures": [
                {"method": name, "labels_per_class": [json_count(count) for count in counts], "reason": reason}
                for (name, reason), counts in self._failed.items()
            ],
            "pending": [step.folder for step in self._waiting],
        }

    def _points_of(self, name: str) -> list[dict[str, Any]]:
        return [
            {"labels_per_class": json_count(count)} | self._points[name, count]
            for count in self._counts
            if (name, count) in self._points
        ]

    def _describe_protocol(self) -> dict[str, Any]:
        recipe, compared = self._recipe, self._compares_propagation
        protocol = replace(recipe.protocol, propagate=recipe.protocol.propagate or compared)
        content = protocol.to_json() | {"compare_propagation": compared}
        for decided_here in ("seed", "labels_per_class", "label_share"):
            del content[decided_here]
        words = protocol.describe()
        if any(count is not None for count in self._counts):
            *first, last = map(show_count, self._counts)
            listing = f"{', '.join(first)} or {last}" if first else last
            seeds = f"seed{'s' * (len(recipe.seeds) > 1)} {', '.join(map(str, recipe.seeds))}"
            words = replace(protocol, labels_per_class=1, seed=0).describe()
            words = words.replace("1 training", f"{listing} training").replace("(seed 0)", f"({seeds})")
        if compared:
            words = words.replace("propagated to", "propagated, where a name says so, to")
        return content | {"seeds": list(recipe.seeds), "words": words}


def _point(block: Mapping[str, Any], directions: Sequence[str], folder: Path) -> dict[str, Any]:
    """One method at one label count: scores with intervals over queries, and their spread over seeds."""
    scores = {
        column: {name: block[column][name] for name in _SCORES} | {"map_std_over_seeds": spread}
        for column, spread in _spreads(block, directions, folder).items()
    }
    return {name: block[name] for name in _ABOUT} | scores


def _spreads(block: Mapping[str, Any], directions: Sequence[str], folder: Path) -> dict[str, float | None]:
    average = block["average"]["map_std_over_seeds"]
    if block["deterministic"]:
        return dict.fromkeys([*directions, "average"], average)
    runs = [read_scores(folder / run["folder"]).directions for run in block["runs"]]
    return {name: seed_spread([[run[name].mean()] for run in runs]) for name in directions} | {"average": average}


def label_curve(
    dataset: Dataset,
    recipe: Recipe,
    out: str | Path,
    labels_per_class: Iterable[int | str],
    *,
    compare_propagation: bool = False,
    fresh: bool = False,
    callbacks: Callbacks | None = None,
) -> dict[str, Any]:
    """Score methods with increasing numbers of training labels; the seed of a run decides which labels it is given.

    Every label count is a comparison in a folder of its own (see `compare_methods`), so finished runs are kept and
    a method that fails at a count leaves a gap there. Methods that read no labels are fitted once for all counts.
    `curve.json`, `curve.md`, `curve.svg` and `curve.png` are written anew after every count.

    Args:
        dataset: the dataset.
        recipe: methods, seeds, protocol and parameters; the protocol must not withhold labels itself.
        out: the curve's folder; runs that are already there with the same inputs are kept.
        labels_per_class: positive whole numbers and "all".
        compare_propagation: run methods that read labels with and without `propagate`, whatever the protocol says of
            it; the second line's name ends in "+ propagation".
        fresh: fit everything again.
        callbacks: called as the comparison proceeds.

    Returns:
        The content of `curve.json`.
    """
    folder, counts, callbacks = Path(out), sorted_counts(labels_per_class), callbacks or Callbacks()
    drawing_style()  # so that a missing package is named before hours of work
    recipe, left_out = suited(dataset, recipe)
    steps = steps_of(recipe, counts, compare_propagation=compare_propagation)
    runs = [run.in_part(step.words) for step in steps for run in plan(step.recipe)]
    tally = CurveTally(recipe, counts, [kept_labels(dataset, count, recipe.seeds) for count in counts], steps)
    with locked(folder):
        callbacks.planned(runs)
        for name, reason in left_out.items():
            callbacks.left_out(name, reason)
        for step in steps:
            place = folder / step.folder
            done = compare_methods(dataset, step.recipe, place, fresh=fresh, callbacks=callbacks, part=step.words)
            tally.finish(step, done, place)
            results = tally.results()
            write_json(folder / "curve.json", results)
            write_text(folder / "curve.md", render_curve_markdown(results))
            write_plots(folder, results)
    return results
