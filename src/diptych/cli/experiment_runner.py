"""Run an experiment from the command line: show it while it runs, print its results, set the exit status."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from diptych._core.progress import show_seconds
from diptych.cli.console import TimeLeft, output_console, resumable
from diptych.experiments import Callbacks

if TYPE_CHECKING:
    from diptych.experiments import Run


_QUIET_SECONDS = 15.0


class PlainDisplay(Callbacks):
    """Print one line for every event, and one every few seconds for a long stage."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._count, self._total = 0, 0
        self._last = 0.0
        self._left = TimeLeft()
        self._estimates: list[float] = []
        self._spent, self._expected = 0.0, 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to clean up."""

    def preparing(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Print how far preparations are."""
        if time.monotonic() - self._last > _QUIET_SECONDS:
            self._last = time.monotonic()
            self._say(f"{escape(with_figures(stage, figures))} {done}/{total}")

    def outlined(self, plan: str) -> None:
        """Print the plan."""
        self._say(f"{escape(plan)}.")

    def planned(self, runs: Sequence[Run]) -> None:
        """Remember how many runs there are."""
        self._total = len(runs)

    def estimated(self, seconds: Sequence[float]) -> None:
        """Remember how long each will take."""
        self._estimates = list(seconds)

    def left_out(self, method: str, reason: str) -> None:
        """Print why a method is left out."""
        self._say(f"{escape(method)} is left out: {escape(reason)}")

    def started(self, run: Run, because: str | None) -> None:
        """Print why a run is fitted again."""
        self._last = time.monotonic()
        self._left = TimeLeft()
        if because is not None:
            self._say(f"{escape(run.name)}: fitting again, {escape(because)}")

    def stage(self, run: Run, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Print how far a long run is, and how long it will still take."""
        text = self._describe(run, stage, done, total, figures)
        if time.monotonic() - self._last > _QUIET_SECONDS:
            self._last = time.monotonic()
            self._say(text)

    def _describe(self, run: Run, stage: str, done: int, total: int, figures: Mapping[str, float] | None) -> str:
        from diptych._core.progress import stage_in_words, validation_figures

        text = stage_in_words(stage, done, total) + self._left(stage, done, total)
        return f"{escape(run.name)}: {escape(with_figures(text, validation_figures(figures)))}"

    def finished(self, run: Run, average_map: float, seconds: float) -> None:
        """Print the score of a run."""
        if self._count < len(self._estimates):
            self._spent += seconds
            self._expected += self._estimates[self._count]
        self._outcome(run, f"average MAP {average_map:.3f}, {show_seconds(seconds)}")

    def kept(self, run: Run, average_map: float) -> None:
        """Print that a finished run was kept."""
        self._outcome(run, f"average MAP {average_map:.3f}, kept from before")

    def failed(self, run: Run, reason: str) -> None:
        """Print in red why a run failed."""
        self._outcome(run, f"[red]failed: {escape(reason)}[/red]")

    def _outcome(self, run: Run, text: str) -> None:
        self._count += 1
        self._say(f"[{self._count}/{self._total}] {escape(run.name)}: {text}{self._remaining()}")

    def _remaining(self) -> str:
        """How long the rest will take, at the pace of the runs so far; nothing below a minute."""
        pace = self._spent / self._expected if self._expected else 1.0
        left = pace * sum(self._estimates[self._count :])
        return f"; about {show_seconds(left)} left for all" if left >= 60 else ""

    def _say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, highlight=False)


class LiveDisplay(PlainDisplay):
    """Print the same lines, with progress bars of all runs and of the current one below."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._whole = self._progress.add_task("all runs", total=None)
        self._current = self._progress.add_task("", total=None, visible=False)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove the progress bars."""
        self._progress.stop()

    def preparing(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Show how far preparations are, until the first run begins."""
        text = escape(with_figures(stage, figures))
        self._progress.update(self._current, description=text, completed=done, total=total, visible=True)

    def planned(self, runs: Sequence[Run]) -> None:
        """Show how many runs there are."""
        super().planned(runs)
        self._progress.update(self._whole, total=len(runs))

    def started(self, run: Run, because: str | None) -> None:
        """Show the run that is being fitted."""
        super().started(run, because)
        self._progress.reset(self._current, total=None, description=f"{escape(run.name)}: fitting", visible=True)

    def stage(self, run: Run, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Show how far the run is."""
        text = self._describe(run, stage, done, total, figures)
        self._progress.update(self._current, description=text, completed=done, total=total)

    def _outcome(self, run: Run, text: str) -> None:
        super()._outcome(run, text)
        self._progress.advance(self._whole)
        self._progress.update(self._current, visible=False)


def display_for(console: Console) -> PlainDisplay:
    """Return the display that suits a console."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


def with_figures(text: str, figures: Mapping[str, float] | None) -> str:
    """Write figures behind a text."""
    shown = ", ".join(f"{name} {value:.3g}" for name, value in (figures or {}).items())
    return f"{text} ({shown})" if shown else text


def run_experiment(
    work: Callable[[Callbacks], dict[str, Any]],
    show: Callable[[Mapping[str, Any], Console], None],
    kept: tuple[str, Path],
    failed: Callable[[Mapping[str, Any]], Iterable[str]],
    *,
    as_json: bool,
) -> None:
    """Run an experiment with a display and print its results; the exit status is 1 when a method failed.

    Args:
        work: the experiment, given the callbacks.
        show: prints its results.
        kept: the name and path of the file that holds more.
        failed: names the methods that failed.
        as_json: print the results as JSON instead.
    """
    messages = Console(stderr=True)
    with resumable(messages), display_for(messages) as display:
        results = work(display)
    if as_json:
        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        show(results, output_console())
    what, where = kept
    messages.print(f"{what}: {escape(str(where))}", soft_wrap=True, highlight=False)
    names = ", ".join(dict.fromkeys(failed(results)))
    if names:
        messages.print(f"[red]failed: {escape(names)}; run the same command to try them again.[/red]", soft_wrap=True)
        raise typer.Exit(1)
