"""The training loop: the one place where weights change step by step.

A run is a pure function of its objective, settings and rows. The rows of a step, its random numbers, its rate
and its momentum depend on the step's number alone, so a checkpoint holds weights and scores but no hidden
state, and a run that was killed and started again ends with the same bits as one that was not.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import torch

from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress, silent
from diptych.training.distributed import World, all_threads, sharded, to_device
from diptych.training.monitoring import GRADIENT_NORM, Breakdown, History, RunLog, require_finite_weights
from diptych.training.run import Resume, Run, resume_run, set_rate_and_momentum, write_checkpoint
from diptych.training.settings import LoopSettings
from diptych.training.steps import BatchOrder, Objective, RowwiseObjective, reproducible, reseed

RowsT = TypeVar("RowsT")
Validate = Callable[[], float]


def train(
    objective: Objective[RowsT],
    settings: LoopSettings,
    *,
    batches: Callable[[int], RowsT] | None = None,
    count: int | None = None,
    validate: Validate | None = None,
    folder: Path | None = None,
    stage: str = "training",
    key: str = "",
    resume: Resume = "same",
    progress: Progress = silent,
) -> History:
    """Train the objective's module in place.

    Processes that have joined a world (`diptych.training.distributed`) call this with the same arguments and end with
    the same weights. They divide the batches of a `RowwiseObjective`; any other is trained by the first process and
    handed to the rest. Only the first one reads and writes files, validates and reports.

    Args:
        objective: What gives the gradients.
        settings: How to descend them.
        batches: The rows of each step; must depend on the step alone.
        count: Instead of `batches`, the number of rows: each step then gets row numbers, shuffled anew each epoch.
        validate: A score of the module as it is, higher is better; the best weights are kept and restored at the end.
        folder: The stage's own, for checkpoints and logs; a stage interrupted there is resumed, a finished one loaded.
        stage: The stage's name, for messages and for telling checkpoints apart.
        key: A hash of what else decides the outcome (data, architecture); a checkpoint under another key is not used.
        resume: `same` run only, `changed` settings too, or `never`.
        progress: Told about every log point and validation.

    Returns:
        What happened, including what happened before an interruption.

    Raises:
        FitError: If the main figure, the gradients or the weights stop being finite or explode.
    """
    settings.check()
    world = World.current()
    run = Run(stage, key, objective.module, settings)
    rows_of = _rows_of(batches, count, settings)
    if not world.is_first:
        folder, progress = None, silent
    if folder is not None:
        resume_run(run, folder, resume)
    together = world.is_shared and isinstance(objective, RowwiseObjective)
    if together:
        run.follow_first(world)
    if not run.finished and (together or world.is_first):
        try:
            with _shared_work(objective, world):
                _descend(run, objective, rows_of, validate, folder, progress, world if together else World())
        except Breakdown as breakdown:
            rate = settings.rate.at(breakdown.step)
            raise FitError(breakdown.sentence(stage, rate, _what_is_kept(run, folder))) from None
    if not together:
        run.follow_first(world)
    return run.settle().history


def _shared_work(objective: Objective[Any], world: World) -> AbstractContextManager[None]:
    """How processes train together: by dividing each batch, or else the first with the threads of all."""
    if not world.is_shared:
        return nullcontext()
    return sharded(objective, world) if isinstance(objective, RowwiseObjective) else all_threads()


def _descend(
    run: Run,
    objective: Objective[Any],
    rows_of: Callable[[int], Any],
    validate: Validate | None,
    folder: Path | None,
    progress: Progress,
    world: World,
) -> None:
    settings, history, stage = run.settings, run.history, run.history.stage
    parameters = [parameter for parameter in run.module.parameters() if parameter.requires_grad]
    run.module.train()

    with reproducible(run.device) as random, RunLog(folder, history, tensorboard=settings.tensorboard) as log:
        for step in range(run.step, settings.steps):
            rate, momentum = settings.rate.at(step), settings.momentum.at(step)
            set_rate_and_momentum(run.optimizer, rate, momentum)
            reseed(random, settings.seed, step)

            run.optimizer.zero_grad()  # to None: a gradient kept at zero would be a memory that resuming lacks
            figures = objective.gradients(to_device(rows_of(step), run.device), step, random)
            if settings.clip_norm is not None:
                norm = torch.nn.utils.clip_grad_norm_(parameters, settings.clip_norm)
                figures = {**figures, GRADIENT_NORM: norm}
            run.optimizer.step()
            run.window.add(step, figures)

            run.step = done = step + 1
            is_last = done == settings.steps

            if validate is not None and (is_last or done % settings.validate_every == 0):
                score = _validate(run, validate, world)
                log.validation(done, score)
                progress(stage, done, settings.steps, {"validation": score})
                is_last = is_last or run.stop.exhausted

            if is_last or done % settings.log_every == 0:
                means = run.window.means()
                log.figures({"step": done, **means, "rate": rate, "momentum": momentum})
                progress(stage, done, settings.steps, means)

            if is_last:
                _finish(run)
            if is_last or done % settings.checkpoint_every == 0:
                _save(run, folder)
            if is_last:
                break


def _rows_of(batches: Callable[[int], Any] | None, count: int | None, settings: LoopSettings) -> Callable[[int], Any]:
    if (batches is None) == (count is None):
        raise ConfigError("train needs either batches or count, and not both.")
    return batches or BatchOrder(count or 0, settings.batch_size, settings.seed)


def _validate(run: Run, validate: Validate, world: World) -> float:
    """Score the weights as they are, and keep them if they are the best so far."""
    run.window.read()
    require_finite_weights(run.module, run.step - 1)
    run.module.eval()
    with torch.no_grad():
        score = world.agree(lambda: float(validate()))
    run.module.train()
    if not math.isfinite(score):
        raise Breakdown(run.step - 1, f"the validation score became {score}")
    if run.stop.update(run.step, score):
        run.remember_best()
    return score


def _finish(run: Run) -> None:
    run.finished = True
    run.history.steps = run.step
    run.history.stopped_early = run.step < run.settings.steps
    if run.best is not None:
        run.history.best_step, run.history.best_score = run.stop.best_step, run.stop.best_score


def _save(run: Run, folder: Path | None) -> None:
    """Write a checkpoint, but never one of a run that has broken down."""
    run.window.read()
    require_finite_weights(run.module, run.step - 1)
    if folder is not None:
        write_checkpoint(folder, run)


def _what_is_kept(run: Run, folder: Path | None) -> str:
    if run.saved_step is None:
        return "There is no checkpoint of it yet."
    return f"The last good checkpoint, after {run.saved_step} steps, is in {folder}."
