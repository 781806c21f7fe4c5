"""Run a curve: one comparison after the other, each resumed where it stopped."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from diptych._core.files import write_json, write_text
from diptych.data import Dataset
from diptych.experiments.compare import compare_methods, locked
from diptych.experiments.curve.counts import kept_labels, sorted_counts
from diptych.experiments.curve.markdown import render_curve_markdown
from diptych.experiments.curve.results import CurveTally
from diptych.experiments.curve.steps import steps_of
from diptych.experiments.curve.watching import StepWatcher, in_step
from diptych.experiments.planning import plan, suited
from diptych.experiments.recipe import Recipe
from diptych.experiments.watching import Watcher


def label_curve(
    dataset: Dataset,
    recipe: Recipe,
    out: str | Path,
    labels_per_class: Iterable[int | str],
    *,
    compare_propagation: bool = False,
    fresh: bool = False,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Score methods with more and more training labels; the seed of a run decides which labels it is given.

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
        watcher: told what happens.

    Returns:
        The content of `curve.json`.
    """
    folder, counts, told = Path(out), sorted_counts(labels_per_class), watcher or Watcher()
    recipe, left_out = suited(dataset, recipe)
    steps = steps_of(recipe, counts, compare_propagation=compare_propagation)
    runs = [in_step(run, step.words) for step in steps for run in plan(step.recipe)]
    tally = CurveTally(recipe, counts, [kept_labels(dataset, count, recipe.seeds) for count in counts], steps)
    with locked(folder):
        told.planned(runs)
        for name, reason in left_out.items():
            told.left_out(name, reason)
        for step in steps:
            place = folder / step.folder
            done = compare_methods(dataset, step.recipe, place, fresh=fresh, watcher=StepWatcher(told, step.words))
            tally.finish(step, done, place)
            results = tally.results()
            _write(folder, results)
    return results


def _write(folder: Path, results: Mapping[str, Any]) -> None:
    from diptych.experiments.curve.plot import write_plots  # half a second that no other command should pay

    write_json(folder / "curve.json", results)
    write_text(folder / "curve.md", render_curve_markdown(results))
    write_plots(folder, results)
