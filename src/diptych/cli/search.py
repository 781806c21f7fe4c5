"""`diptych search`: ask an index."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from diptych.cli.hit_table import hit_table, shows_pictures
from diptych.cli.options import AsJson
from diptych.cli.query_parts import query_parts
from diptych.cli.tables import output_console
from diptych.methods.purposes import Purpose
from diptych.search import Answer, Searcher

IndexFolder = Annotated[Path, typer.Argument(metavar="INDEX", help="An index's folder.")]
ServerUrl = Annotated[str | None, typer.Option("--url", help="The server that keeps the vectors, if one does.")]


def search(
    index: IndexFolder,
    text: Annotated[list[str] | None, typer.Option("--text", "-t", metavar="WORDS[^WEIGHT]", help="By words.")] = None,
    image: Annotated[
        list[str] | None, typer.Option("--image", "-i", metavar="FILE[^WEIGHT]", help="By a picture.")
    ] = None,
    like: Annotated[
        list[str] | None, typer.Option("--like", "-l", metavar="ID[^WEIGHT]", help="By an item of the index.")
    ] = None,
    into: Annotated[
        str | None,
        typer.Option("--in", metavar="MODALITY", help="What to find, such as image or text; all by default."),
    ] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many results.")] = 10,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Leave out so many of the best.")] = 0,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="CONDITION", help="Such as \"split = 'train' and label = 'river'\"."),
    ] = None,
    min_probability: Annotated[
        float, typer.Option("--min-probability", "-p", metavar="P", help="Only what belongs at least so probably.")
    ] = 0.0,
    purpose: Annotated[
        Purpose,
        typer.Option(
            "--purpose",
            help="What to look for, where the index has several spaces: things of this kind (class), the very item "
            "(partner), or anything alike (both, and auto).",
        ),
    ] = "auto",
    thumbnails: Annotated[bool, typer.Option(help="Draw pictures where the terminal can.")] = True,
    as_json: AsJson = False,
    url: ServerUrl = None,
) -> None:
    """Find what belongs to words, pictures and items: one of them, or a mixture.

    Each option may be given several times. A number after ^ weighs a part, a negative one leads away from it:
    --text "snow^2" --text "people^-0.5" --image slope.jpg
    """
    parts = query_parts(text or [], image or [], like or [])
    with Searcher.open(index, url=url) as searcher:
        answer = searcher.search(
            parts, into=into, k=top, offset=offset, where=where, min_probability=min_probability, purpose=purpose
        )
        if as_json:
            typer.echo(json.dumps(asdict(answer), indent=2, ensure_ascii=False))
            return
        console = output_console()
        if answer.hits:
            pictures = searcher.thumbnail if thumbnails and shows_pictures(console) else None
            console.print(hit_table(answer.hits, pictures, offset + 1))
        else:
            console.print(escape(_nothing(answer, min_probability)), highlight=False, soft_wrap=True)
    Console(stderr=True).print(f"{len(answer.hits)} found in {answer.seconds:.3f} s", highlight=False)


def _nothing(answer: Answer, asked: float) -> str:
    if answer.closest is None:
        return "nothing matches."
    return (
        f"nothing matches: the closest belongs with a probability of {answer.closest:.0%}, and {asked:.0%} was asked."
    )
