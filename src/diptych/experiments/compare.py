"""Fit and score many methods on one dataset; whatever is finished survives a kill and is not done twice."""

import fcntl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError, DataError, DiptychError
from diptych._core.files import write_json, write_text
from diptych.data import Dataset
from diptych.experiments.evaluate_model import evaluate_model
from diptych.experiments.markdown import render_markdown
from diptych.experiments.planning import Run, plan, suited
from diptych.experiments.recipe import Recipe
from diptych.experiments.report import render_report
from diptych.experiments.results import Tally
from diptych.experiments.run_store import FinishedRun, RunStore, inputs_of
from diptych.experiments.watching import Watcher


@dataclass(frozen=True)
class _Bench:
    """What every run of one experiment needs."""

    dataset: Dataset
    recipe: Recipe
    store: RunStore
    watcher: Watcher
    fresh: bool

    @property
    def modalities(self) -> tuple[str, ...]:
        """The modalities to join."""
        return self.recipe.modalities or tuple(self.dataset.modalities)


def compare_methods(
    dataset: Dataset, recipe: Recipe, out: str | Path, *, fresh: bool = False, watcher: Watcher | None = None
) -> dict[str, Any]:
    """Run a recipe on a dataset and keep every finished run, `results.json`, `results.md` and `report.html`.

    The three files are written anew after every run, so that a killed experiment leaves a readable part of them.
    A method that fails is listed under "failures" and does not stop the others. Where all methods are asked for, one
    that cannot be fitted on such data is listed under "left_out".

    Args:
        dataset: the dataset.
        recipe: methods, seeds, protocol and parameters.
        out: the report's folder; runs that are already there with the same inputs are kept.
        fresh: fit everything again.
        watcher: told what happens.

    Returns:
        The content of `results.json`.
    """
    unknown = [name for name in recipe.modalities or () if name not in dataset.modalities]
    if unknown:
        raise ConfigError(f"{dataset.path} has no modality '{unknown[0]}'; it has {', '.join(dataset.modalities)}.")
    recipe, left_out = suited(dataset, recipe)
    folder, runs = Path(out), plan(recipe)
    tally = Tally(dataset, recipe, runs, left_out)
    with locked(folder):
        bench = _Bench(dataset, recipe, RunStore(folder / "runs"), watcher or Watcher(), fresh)
        bench.store.sweep()
        bench.watcher.planned(runs)
        for name, reason in left_out.items():
            bench.watcher.left_out(name, reason)
        for run in runs:
            outcome = _run(bench, run)
            if isinstance(outcome, FinishedRun):
                tally.finish(outcome)
            else:
                tally.fail(run, outcome)
            results = tally.results()
            write_json(folder / "results.json", results)
            write_text(folder / "results.md", render_markdown(results))
            write_text(folder / "report.html", render_report(results))
    return results


def _run(bench: _Bench, run: Run) -> FinishedRun | str:
    """Take a run from the store or do it; a failure comes back as its reason."""
    try:
        if run.problem is not None:
            raise ConfigError(run.problem)
        inputs = inputs_of(run, bench.dataset, bench.recipe.split, bench.modalities)
        stored = None if bench.fresh else bench.store.look_up(run, inputs)
        if isinstance(stored, FinishedRun):
            bench.watcher.kept(run, stored.scores.average_map)
            return stored
        bench.watcher.started(run, stored)
        return _fit_and_score(bench, run, inputs)
    except Exception as error:  # whatever one method does, the others are to finish
        reason = str(error) if isinstance(error, DiptychError) else f"{type(error).__name__}: {error}"
        bench.watcher.failed(run, reason)
        return reason


def _fit_and_score(bench: _Bench, run: Run, inputs: Mapping[str, Any]) -> FinishedRun:
    started = time.perf_counter()

    def report(stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        bench.watcher.stage(run, stage, done, total, figures)

    method = run.create().fit(bench.dataset, run.protocol, modalities=bench.modalities, progress=report)
    report("scoring", 0, 1)
    scores = evaluate_model(method, bench.dataset, bench.recipe.split)
    finished = bench.store.write(run, inputs, method, scores)
    bench.watcher.finished(run, scores.average_map, time.perf_counter() - started)
    return finished


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a report's folder alone; the system lets go of it however the process ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("w")
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error.strerror}); choose another folder.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(
                f"{folder} is being written by another comparison; wait or choose another folder."
            ) from None
        yield
