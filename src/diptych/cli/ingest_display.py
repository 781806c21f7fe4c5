"""Run an ingest for a person: what was understood, bars, what was left out, and the dataset in the end."""

import json
from collections.abc import Callable, Iterator
from typing import Protocol

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych._core.processes import usable_cores
from diptych._core.progress import Progress
from diptych.cli.info import facts, print_facts
from diptych.cli.saying import say
from diptych.cli.work_display import work_display_for
from diptych.ingest import Ingested, Plan, Understanding, understanding_of
from diptych.ingest.assembling import REPORT_FILE

_SHOWN_PROBLEMS = 10
_SHOWN_COLUMNS = 24


class Run(Protocol):
    """Something that ingests, and can be taken up again."""

    def __call__(self, *, workers: int, progress: Progress, planned: Callable[[Plan], None]) -> Ingested:
        """Do the work."""


def run_shown(run: Run, workers: int | None, *, as_json: bool = False) -> None:
    """Run an ingest with as many workers, None for one a core, and show what comes of it.

    An interrupt ends with a word about going on, and exit status 130.

    Args:
        run: does the work.
        workers: parallel processes.
        as_json: print the result as JSON instead of for people; messages go to stderr either way.
    """
    messages = Console(stderr=True)
    understood: list[Understanding] = []

    def planned(plan: Plan) -> None:
        understood.append(understanding_of(plan))
        show_understanding(understood[-1], messages)

    try:
        with work_display_for(messages) as display:
            made = run(workers=usable_cores() if workers is None else workers, progress=display, planned=planned)
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    _show_outcome(made, messages)
    if as_json:
        shown = facts(made.dataset) | {"report": made.report.to_json(), "resumed": made.resumed}
        shown |= {"reused": made.reused, "understood": understood[0].to_json() if understood else None}
        typer.echo(json.dumps(shown, indent=2, ensure_ascii=False, default=str))
        return
    print_facts(made.dataset, Console())


def show_understanding(understood: Understanding, console: Console) -> None:
    """Print two small tables: what each column or folder was read as and why, and how much there is of everything."""
    if understood.columns:
        columns = Table("column", "read as", "because", box=None, pad_edge=False, header_style="bold")
        columns.add_column("for example", no_wrap=True, overflow="ellipsis", max_width=max(20, console.width - 60))
        for use in understood.columns[:_SHOWN_COLUMNS]:
            columns.add_row(*map(escape, (use.column, use.part, use.reason, use.example)))
        console.print(columns)
        if len(understood.columns) > _SHOWN_COLUMNS:
            say(console, f"… and {len(understood.columns) - _SHOWN_COLUMNS:,} more columns")
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, fact in understood_facts(understood):
        table.add_row(escape(name), escape(fact))
    console.print(table)
    for warning in understood.warnings:
        console.print(f"[yellow]{escape(warning)}[/yellow]", soft_wrap=True, highlight=False)


def understood_facts(understood: Understanding) -> Iterator[tuple[str, str]]:
    """What was understood, line by line."""
    images = understood.images
    table = f"the table {understood.table}, {understood.rows:,} rows" if understood.table else ""
    left_out = f"{understood.left_out:,} rows or files left out" if understood.left_out else ""
    yield "items", ", ".join(filter(None, (f"{understood.items:,}", table, left_out)))
    missing = f"{images.missing:,} missing" if images.missing else ""
    broken = f"{images.broken:,} broken" if images.broken else ""
    looked = f"of {images.looked_at:,} looked at" if broken and images.looked_at < images.found else ""
    found = ", ".join(filter(None, (f"{images.found:,} found", missing, " ".join(filter(None, (broken, looked))))))
    yield "images", f"{found}, in {images.place} ({images.kind})"
    spoken = sum(understood.languages.values())
    languages = ", ".join(f"{name} {count / spoken:.0%}" for name, count in list(understood.languages.items())[:4])
    yield "texts", ", ".join(filter(None, (f"{understood.with_text:,}", languages)))
    classes = ", ".join(list(understood.classes)[:3]) + (", …" if len(understood.classes) > 3 else "")
    share = f"{understood.label_share:.0%} of the items"
    labels = f"{understood.labelled:,} ({share}) of {len(understood.classes):,} classes: {classes}"
    yield "labels", labels if understood.labelled else "none"
    drawn = " (drawn)" if understood.splits_drawn else ""
    yield "train/val/test", "/".join(f"{count:,}" for count in understood.splits.values()) + drawn


def _show_outcome(made: Ingested, console: Console) -> None:
    if made.resumed:
        say(console, "earlier work was taken up")
    for modality, count in made.reused.items():
        if count:
            say(console, f"{count:,} {modality} rows were there already")
    problems = made.report.problems
    for problem in problems[:_SHOWN_PROBLEMS]:
        say(console, str(problem))
    if len(problems) > _SHOWN_PROBLEMS:
        say(console, f"… and {len(problems) - _SHOWN_PROBLEMS:,} more")
    if problems:
        counts = f"{made.report.count('picture'):,} broken images, {made.report.count('row'):,} skipped rows"
        say(console, f"{counts}; all reasons: {made.dataset.path / REPORT_FILE}")
