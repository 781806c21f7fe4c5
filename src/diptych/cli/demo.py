"""`diptych demo`: `diptych up` on a sample of emoji."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from diptych._core.processes import usable_cores
from diptych.cli.sample import tell_sample
from diptych.cli.saying import say
from diptych.cli.up import Wanted, bring_up
from diptych.cli.work_display import work_display_for
from diptych.ingest.samples import make_emoji
from diptych.up import SearchFolder

_LEAST_ITEMS = 150


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="For everything; run again to go on.")],
    items: Annotated[
        int | None, typer.Option("--items", min=_LEAST_ITEMS, help="Take only so many emoji; all by default.")
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Listen at this port, or another if it is taken.")
    ] = 8000,
    check: Annotated[
        bool, typer.Option("--check", help="Ask the search a few questions and exit: status 0 if all is well, else 1.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome of the questions as JSON.")] = False,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser where there is a display.")
    ] = True,
) -> None:
    """Draw emoji, learn to search them with words and images, and open the search.

    Where output is no terminal, nobody would stop the search: then it is checked, as by --check, and ends.
    """
    messages = Console(stderr=True)
    try:
        with work_display_for(messages) as display:
            made = make_emoji(out / "emoji", limit=items, workers=usable_cores(), progress=display)
    except KeyboardInterrupt:
        say(messages, "stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    tell_sample(made, messages)
    folder = SearchFolder(out / "search")
    say(messages, f"the same as: diptych up {made.pairs} --out {folder.path}")
    wanted = Wanted(port=port, check=check or as_json or not sys.stdout.isatty(), as_json=as_json, open_page=open_page)
    bring_up(made.pairs, folder, wanted, name="emoji")
    compare = f"diptych compare {folder.dataset} --methods cca,sm,cdmlmr --out {out / 'report'}"
    say(messages, f"to compare methods on these emoji: {compare}")
