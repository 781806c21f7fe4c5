"""What the commands that run experiments share: a display while they run, and how they end."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape

from diptych._core.errors import ConfigError
from diptych.cli.display import display_for
from diptych.cli.literals import split_names
from diptych.cli.tables import output_console
from diptych.experiments.compare import Callbacks


def named(option: str, text: str) -> tuple[str, ...]:
    """Read an option's names; one without any is a mistake."""
    names = split_names(text)
    if not names:
        raise ConfigError(f"{option} is empty; give names with commas.")
    return names


def methods_named(text: str) -> tuple[str, ...]:
    """Read `--methods`; empty for "all"."""
    return () if text.strip() == "all" else named("--methods", text)


def run_watched(
    work: Callable[[Callbacks], dict[str, Any]],
    show: Callable[[Mapping[str, Any], Console], None],
    kept: tuple[str, Path],
    failed: Callable[[Mapping[str, Any]], Iterable[str]],
    *,
    as_json: bool,
) -> None:
    """Run an experiment with a display, print what came of it and say by the exit status whether a method failed.

    Args:
        work: the experiment; told who watches.
        show: prints its results for people.
        kept: what the file is called that holds more, and where it is.
        failed: the names of the methods that failed.
        as_json: print the results as JSON instead.
    """
    messages = Console(stderr=True)
    try:
        with display_for(messages) as display:
            results = work(display)
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        show(results, output_console())
    what, where = kept
    messages.print(f"{what}: {escape(str(where))}", soft_wrap=True, highlight=False)
    names = ", ".join(dict.fromkeys(failed(results)))
    if names:
        messages.print(f"[red]failed: {escape(names)}; the same command tries again.[/red]", soft_wrap=True)
        raise typer.Exit(1)
