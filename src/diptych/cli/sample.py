"""`diptych sample`: images and texts that installed packages hold, as files to ingest."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from diptych._core.processes import usable_cores
from diptych.cli.work_display import work_display_for
from diptych.ingest.samples import LANGUAGES, EmojiSample, make_emoji
from diptych.ingest.samples.emoji import LEAST_SIZE, MOST_SIZE
from diptych.ingest.samples.emoji_licence import CREDIT

app = typer.Typer(help="Write a sample of images and texts to try things on.", no_args_is_help=True)


@app.callback()
def _several() -> None:
    """Write a sample of images and texts to try things on."""


@app.command()
def emoji(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write; run again to go on.")],
    size: Annotated[
        int, typer.Option("--size", min=LEAST_SIZE, max=MOST_SIZE, help="Width and height of the images in pixels.")
    ] = 160,
    language: Annotated[
        list[str] | None,
        typer.Option("--language", metavar="CODE", help=f"Of the names, once for each: {', '.join(LANGUAGES)}."),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Take only so many, evenly over all.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides the splits.")] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", min=0, help="Parallel processes; all cores by default, 0 for this one.")
    ] = None,
) -> None:
    """Write emoji: images, names and keywords, with groups as classes and twins kept in one split."""
    messages = Console(stderr=True)
    try:
        with work_display_for(messages) as display:
            made = make_emoji(
                out,
                size=size,
                languages=language or ["en"],
                seed=seed,
                limit=limit,
                workers=usable_cores() if workers is None else workers,
                progress=display,
            )
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    tell_sample(made, messages)
    typer.echo(f"next: diptych up {made.pairs}")


def tell_sample(made: EmojiSample, console: Console) -> None:
    """Say what was written, and whose images they are."""
    kept = made.items - made.drawn
    words = f"{made.items:,} emoji in {made.folder}" + (f", {kept:,} kept from before" if kept else "")
    for line in (words, CREDIT):
        console.print(escape(line), soft_wrap=True, highlight=False)
