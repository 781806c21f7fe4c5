"""Fit and score many methods on one dataset; finished runs survive a kill and are not repeated."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError, DataError, DiptychError
from diptych._core.files import write_json, write_text
from diptych._core.locks import file_lock
from diptych.data import Dataset
from diptych.experiments.model_scores import evaluate_model
from diptych.experiments.recipe import Recipe, Run, plan, suited
from diptych.experiments.report import render_markdown, render_report
from diptych.experiments.results import Tally
from diptych.experiments.run_store import FinishedRun, RunStore, inputs_of
from diptych.methods.base import Method


class Callbacks:
    """Called with every run as it happens; these do nothing, and displays override what they show."""

    def preparing(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """What the runs need is being made, and has come this far."""

    def outlined(self, plan: str) -> None:
        """What will be done and about how long it takes, in a sentence, before anything is read or fitted."""

    def planned(self, runs: Sequence[Run]) -> None:
        """These runs will be done, in this order."""

    def estimated(self, seconds: Sequence[float]) -> None:
        """About how long each of the runs planned will take; 0 for one that is done already."""

    def left_out(self, method: str, reason: str) -> None:
        """A method takes no part, because it cannot be fitted on such data."""

    def started(self, run: Run, because: str | None) -> None:
        """A run is being fitted; `because` says why a stored one does not serve, if there is one."""

    def stage(self, run: Run, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """A run has come this far."""

    def finished(self, run: Run, average_map: float, seconds: float) -> None:
        """A run was fitted and scored."""

    def kept(self, run: Run, average_map: float) -> None:
        """A run was finished before and is taken from disk."""

    def failed(self, run: Run, reason: str) -> None:
        """A run failed; the others go on."""


@dataclass(frozen=True)
class _Bench:
    """What every run of one experiment needs."""

    dataset: Dataset
    recipe: Recipe
    store: RunStore
    callbacks: Callbacks
    fresh: bool
    part: str | None

    @property
    def modalities(self) -> tuple[str, ...]:
        """The modalities to join."""
        return self.recipe.modalities or tuple(self.dataset.modalities)


def compare_methods(
    dataset: Dataset,
    recipe: Recipe,
    out: str | Path,
    *,
    fresh: bool = False,
    callbacks: Callbacks | None = None,
    part: str | None = None,
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
        callbacks: called as the comparison proceeds.
        part: what the larger experiment that this is a part of calls it; that has announced its plan itself.

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
        bench = _Bench(dataset, recipe, RunStore(folder / "runs"), callbacks or Callbacks(), fresh, part)
        bench.store.sweep()
        if part is None:
            bench.callbacks.planned(runs)
            for name, reason in left_out.items():
                bench.callbacks.left_out(name, reason)
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
    callbacks, shown = bench.callbacks, run.in_part(bench.part or "")
    try:
        if run.problem is not None:
            raise ConfigError(run.problem)
        inputs = inputs_of(run, bench.dataset, bench.recipe.split, bench.modalities)
        stored = None if bench.fresh else bench.store.look_up(run, inputs)
        if isinstance(stored, FinishedRun):
            callbacks.kept(shown, stored.scores.average_map)
            return stored
        callbacks.started(shown, stored)
        started, report = time.perf_counter(), partial(callbacks.stage, shown)
        method = run.create().fit(bench.dataset, run.protocol, modalities=bench.modalities, progress=report)
        report("scoring", 0, 1)
        scores = evaluate_model(method, bench.dataset, bench.recipe.split)
        finished = bench.store.write(run, inputs, method, scores)
        callbacks.finished(shown, scores.average_map, time.perf_counter() - started)
        return finished
    except Exception as error:  # whatever one method does, the others are to finish
        reason = str(error) if isinstance(error, DiptychError) else f"{type(error).__name__}: {error}"
        callbacks.failed(shown, reason)
        return reason


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a report's folder alone, or refuse at once."""
    with ExitStack() as held:
        try:
            alone = held.enter_context(file_lock(folder / ".lock", timeout_s=0))
        except OSError as error:
            raise DataError(f"{folder} cannot be written ({error.strerror}); choose another folder.") from None
        if not alone:
            raise DataError(f"{folder} is being written by another comparison; wait or choose another folder.")
        yield


def fit_one(dataset: Dataset, recipe: Recipe, callbacks: Callbacks | None = None) -> Method:
    """Fit the first run of a recipe."""
    run, seen = plan(recipe)[0], callbacks or Callbacks()
    if run.problem is not None:
        raise ConfigError(run.problem)
    seen.started(run, None)
    progress = partial(seen.stage, run)
    return run.create().fit(dataset, run.protocol, modalities=recipe.modalities, progress=progress)
