"""Show how far long work is and how fast it goes: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

_QUIET_SECONDS = 15.0


class PlainWorkDisplay:
    """One line for the end of each stage, and now and then one on the way."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to put away."""

    def __call__(self, stage: str, done: int, total: int, figures: Mapping[str, float] | None = None) -> None:
        """Say how far a stage is."""
        if time.monotonic() - self._last > _QUIET_SECONDS or (done == total and figures):
            self._last = time.monotonic()
            self._console.print(
                escape(f"{stage}: {done:,}/{total:,}{show_figures(figures)}"), soft_wrap=True, highlight=False
            )


class LiveWorkDisplay(PlainWorkDisplay):
    """A bar for every stage."""

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
        self._progress.update(self._tasks[stage], completed=done, total=total, figures=show_figures(figures))


def show_figures(figures: Mapping[str, float] | None) -> str:
    """Figures in a few words, such as ", 35.2 per second"."""
    return "".join(f", {value:,.1f} {name}" for name, value in (figures or {}).items())


def work_display_for(console: Console) -> PlainWorkDisplay:
    """The display that suits a console."""
    return LiveWorkDisplay(console) if console.is_terminal else PlainWorkDisplay(console)
