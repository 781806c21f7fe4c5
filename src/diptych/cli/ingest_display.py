"""Run an ingest for a person: the plan, bars, what was left out, and the dataset in the end."""

from collections.abc import Callable
from typing import Protocol

import typer
from rich.console import Console

from diptych.cli.info import print_facts
from diptych.cli.saying import say
from diptych.cli.work_display import work_display_for
from diptych.ingest import Ingested, Plan
from diptych.ingest.assembling import REPORT_FILE
from diptych.processes import usable_cores
from diptych.progress import Progress

_SHOWN_PROBLEMS = 10


class Run(Protocol):
    """Something that ingests, and can be taken up again."""

    def __call__(self, *, workers: int, progress: Progress, planned: Callable[[Plan], None]) -> Ingested:
        """Do the work."""


def run_shown(run: Run, workers: int | None) -> None:
    """Run an ingest with as many workers, None for one a core, and show what comes of it.

    An interrupt ends with a word about going on, and exit status 130.
    """
    messages = Console(stderr=True)
    try:
        with work_display_for(messages) as display:
            made = run(
                workers=usable_cores() if workers is None else workers,
                progress=display,
                planned=lambda plan: _show_plan(plan, messages),
            )
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    _show_outcome(made, messages)
    print_facts(made.dataset, Console())


def _show_plan(plan: Plan, console: Console) -> None:
    columns = plan.columns.to_json()
    if any(columns.values()):
        say(console, "columns: " + ", ".join(f"{part}: {column or 'none'}" for part, column in columns.items()))
    say(console, f"{len(plan.items):,} items, {len(plan.places):,} pictures in a {plan.source_kind}")


def _show_outcome(made: Ingested, console: Console) -> None:
    if made.resumed:
        say(console, "earlier work was taken up")
    problems = made.report.problems
    for problem in problems[:_SHOWN_PROBLEMS]:
        say(console, str(problem))
    if len(problems) > _SHOWN_PROBLEMS:
        say(console, f"… and {len(problems) - _SHOWN_PROBLEMS:,} more")
    if problems:
        counts = f"{made.report.count('picture'):,} broken pictures, {made.report.count('row'):,} skipped rows"
        say(console, f"{counts}; all reasons: {made.dataset.path / REPORT_FILE}")
