"""Print to the terminal: consoles, messages without markup, and the progress of long work."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from diptych._core.progress import show_seconds

_WIDTH_IN_FILES = 170
_QUIET_SECONDS = 15.0
_LEAST_KNOWN_S, _LEAST_LEFT_S = 1.0, 3.0
"""How long a stage has to run before its end is estimated, and how far off that has to be to be printed."""


def output_console() -> Console:
    """Return a console for results; where no terminal sets the width, tables get enough."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_IN_FILES)


def say(console: Console, text: str) -> None:
    """Print text without Rich markup, highlighting or line breaks."""
    console.print(escape(text), soft_wrap=True, highlight=False)


@contextmanager
def resumable(console: Console) -> Iterator[None]:
    """End with exit status 130 on an interrupt, and say how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        say(console, "stopped; run the same command to continue.")
        raise typer.Exit(130) from None


class TimeLeft:
    """Estimate how long each stage will still take, from what was done since it was first reported."""

    def __init__(self) -> None:
        self._began: dict[str, tuple[float, int]] = {}

    def __call__(self, stage: str, done: int, total: int) -> str:
        """Return the rest of a stage such as ", about 2 min left", or nothing where that is not known."""
        now = time.monotonic()
        began, before = self._began.setdefault(stage, (now, done))
        if now - began < _LEAST_KNOWN_S or done <= before:
            return ""
        seconds = (now - began) / (done - before) * (total - done)
        return f", about {show_seconds(seconds)} left" if seconds > _LEAST_LEFT_S else ""


class PlainProgress:
    """Print one line at the end of each stage, and one every few seconds on the way."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()
        self.left = TimeLeft()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to clean up."""

    def __call__(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Print how far a stage is."""
        left = self.left(stage, done, total)
        if time.monotonic() - self._last > _QUIET_SECONDS or (done == total and figures):
            self._last = time.monotonic()
            say(self._console, f"{stage}: {done:,}/{total:,}{show_figures(figures)}{left}")


class LiveProgress(PlainProgress):
    """Show a progress bar for every stage."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        columns = TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn()
        self._progress = Progress(*columns, TextColumn("{task.fields[figures]}"), console=console)
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave the bars as they are."""
        self._progress.stop()

    def __call__(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Move the stage's bar."""
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(escape(stage), total=total, figures="")
        shown = show_figures(figures) + self.left(stage, done, total)
        self._progress.update(self._tasks[stage], completed=done, total=total, figures=shown)


def show_figures(figures: Mapping[str, float] | None) -> str:
    """Write figures such as ", 35.2 per second"."""
    return "".join(f", {value:,.1f} {name}" for name, value in (figures or {}).items())


def progress_on(console: Console) -> PlainProgress:
    """Return the progress display that suits a console."""
    return LiveProgress(console) if console.is_terminal else PlainProgress(console)
