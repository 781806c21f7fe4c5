"""`diptych demo` and `diptych sample`: emoji as a sample, searched at once or written as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from diptych.cli.console import progress_on, resumable, say
from diptych.cli.options import Workers
from diptych.cli.up_command import ServeOptions, bring_up

if TYPE_CHECKING:
    from diptych.data.emoji import EmojiSample


_LEAST_ITEMS = 150
LANGUAGES = ("en", "ar", "de", "es", "fa", "fr", "id", "it", "ja", "ko", "pt", "ru", "tr", "zh")
LEAST_SIZE, MOST_SIZE = 16, 2048
"""As the sample itself has them; a test compares."""


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for everything; run again to continue.")
    ],
    items: Annotated[
        int | None, typer.Option("--items", min=_LEAST_ITEMS, help="Number of emoji; all by default.")
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Port to listen on, or another if it is taken.")
    ] = 8000,
    check: Annotated[
        bool, typer.Option("--check", help="Send test queries to the search and exit: status 0 if all pass, else 1.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result of --check as JSON.")] = False,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser, if there is a display.")
    ] = True,
) -> None:
    """Search a sample of emoji with text and images.

    If the output is not a terminal, the search is checked as with --check.
    """
    from diptych._core.processes import usable_cores
    from diptych.data.emoji import make_emoji
    from diptych.up import SearchFolder

    messages = Console(stderr=True)
    with resumable(messages), progress_on(messages) as display:
        made = make_emoji(out / "emoji", limit=items, workers=usable_cores(), progress=display)
    _describe(made, messages)
    folder = SearchFolder(out / "search")
    say(messages, f"the same as: diptych up {made.pairs} --out {folder.path}")
    options = ServeOptions(
        port=port, check=check or as_json or not sys.stdout.isatty(), as_json=as_json, open_page=open_page
    )
    bring_up(made.pairs, folder, options, name="emoji")
    compare = f"diptych compare {folder.dataset} --methods cca,sm,cdmlmr --out {out / 'report'}"
    say(messages, f"to compare methods on these emoji: {compare}")


app = typer.Typer(
    help="Write sample images and texts as files.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)


@app.callback()
def _several() -> None:
    """Write sample images and texts as files."""


@app.command()
def emoji(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write; run again to continue.")],
    size: Annotated[
        int, typer.Option("--size", min=LEAST_SIZE, max=MOST_SIZE, help="Width and height of the images in pixels.")
    ] = 160,
    language: Annotated[
        list[str] | None,
        typer.Option("--language", metavar="CODE", help=f"Language of the names: {', '.join(LANGUAGES)}. Repeatable."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Number of emoji, spread evenly over all.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the splits.")] = 0,
    workers: Workers = None,
) -> None:
    """Write emoji images with names, keywords and labels."""
    from diptych._core.processes import usable_cores
    from diptych.data.emoji import make_emoji

    messages = Console(stderr=True)
    with resumable(messages), progress_on(messages) as display:
        made = make_emoji(
            out,
            size=size,
            languages=language or ["en"],
            seed=seed,
            limit=limit,
            workers=usable_cores() if workers is None else workers,
            progress=display,
        )
    _describe(made, messages)
    typer.echo(f"next: diptych up {made.pairs}")


def _describe(made: EmojiSample, console: Console) -> None:
    """Print what was written, and who designed the images."""
    from diptych.data.emoji import CREDIT

    kept = made.items - made.drawn
    say(console, f"{made.items:,} emoji in {made.folder}" + (f", {kept:,} kept from before" if kept else ""))
    say(console, CREDIT)
