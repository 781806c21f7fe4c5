"""Show what `diptych up` understood and what it is doing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from diptych._core.progress import Progress, show_seconds
from diptych.cli.console import progress_on, say
from diptych.cli.ingest_command import show_understanding

if TYPE_CHECKING:
    from diptych.ingest import Ingested, Problem
    from diptych.methods import Method
    from diptych.search import Built
    from diptych.up import Changes, Checked, SearchFolder, Source

_SHOWN_PROBLEMS = 5
_STEPS = {"features": "1/3 features", "model": "2/3 model", "index": "3/3 index"}


class UpDisplay:
    """Print every step of `diptych up`."""

    def __init__(self, console: Console, folder: SearchFolder) -> None:
        self._console, self._folder = console, folder
        self._problems = 0

    @contextmanager
    def step(self, name: str, why: str) -> Iterator[Progress]:
        """Print that a step begins, and show its progress."""
        say(self._console, _STEPS[name] + (f" ({why})" if why else ""))
        with progress_on(self._console) as display:
            yield display

    def kept(self, what: str) -> None:
        """Print that something was made before and is kept."""
        say(self._console, f"{what}: kept from before")

    def ingested(self, made: Ingested) -> None:
        """Print what the dataset holds and what could not be read."""
        counts = ", ".join(f"{count:,} with {name}" for name, count in made.report.with_modality.items())
        reused = ", ".join(f"{count:,} {name} rows" for name, count in made.reused.items() if count)
        say(
            self._console,
            f"{made.report.items:,} items, {counts}" + (f"; {reused} reused" if reused else ""),
        )
        broken = made.report.count("picture")
        for problem in made.report.problems[:_SHOWN_PROBLEMS]:
            say(self._console, f"  {problem}")
        if len(made.report.problems) > _SHOWN_PROBLEMS:
            file = self._folder.dataset / "ingest-report.json"
            say(self._console, f"  … and {len(made.report.problems) - _SHOWN_PROBLEMS:,} more, all in {file}")
        if broken:
            say(self._console, f"{broken:,} files are missing or broken; their texts can still be found")

    def fitted(self, model: Method) -> None:
        """Print how long the fit took, and why this method."""
        why = model.record_.get("auto", {}).get("why")
        seconds = show_seconds(model.record_["fit_seconds"])
        say(self._console, f"fitted in {seconds}: {why or model.saved_as.registry_name}")

    def indexed(self, built: Built) -> None:
        """Print what the index holds."""
        entries = " and ".join(f"{count:,} {name}s" for name, count in built.entries.items())
        say(self._console, f"the index holds {entries}, built in {show_seconds(built.seconds)}")
        if built.without_direction:
            say(self._console, f"{built.without_direction:,} with a zero embedding are left out")

    def synced(self, changes: Changes) -> None:
        """Print what changed in the index."""
        say(self._console, f"the index is in sync with the files: {changes}")
        if self._problems > _SHOWN_PROBLEMS:
            say(self._console, f"  … and {self._problems - _SHOWN_PROBLEMS:,} more that cannot be added")

    def problem(self, problem: Problem) -> None:
        """Print that an item, or one modality of it, could not be added."""
        self._problems += 1
        if self._problems <= _SHOWN_PROBLEMS:
            say(self._console, f"  {problem}")


class FollowDisplay:
    """Print what changes while a search is served, with the time of day."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, sentence: str) -> None:
        """Print one message."""
        say(self._console, f"{time.strftime('%H:%M:%S')} {sentence}")


def show_source(source: Source, console: Console) -> None:
    """Print how the source was understood, and why."""
    from diptych.ingest import understanding_of

    say(console, str(source.path))
    show_understanding(understanding_of(source.plan), console)


def show_check(checked: Checked, console: Console) -> None:
    """Print the result of one check."""
    mark = {True: "✓", False: "✗", None: "–"}[checked.passed]
    asked = checked.asked if len(checked.asked) <= 60 else checked.asked[:59] + "…"
    say(console, f"  {mark} {checked.name}{f' ({asked})' if asked else ''}: {checked.said}")
