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
from diptych.search import Answer, Mode, Searcher

IndexFolder = Annotated[Path, typer.Argument(metavar="INDEX", help="An index's folder.")]
ServerUrl = Annotated[str | None, typer.Option("--url", help="The server that keeps the vectors, if one does.")]


def search(
    index: IndexFolder,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORDS…]", help="What to look for, as --text without a weight.")
    ] = None,
    text: Annotated[list[str] | None, typer.Option("--text", "-t", metavar="WORDS[^WEIGHT]", help="By words.")] = None,
    image: Annotated[
        list[str] | None, typer.Option("--image", "-i", metavar="FILE[^WEIGHT]", help="By an image.")
    ] = None,
    like: Annotated[
        list[str] | None, typer.Option("--like", "-l", metavar="ID[^WEIGHT]", help="By an item of the index.")
    ] = None,
    into: Annotated[
        str | None,
        typer.Option("--in", metavar="MODALITY", help="Search one side only, image or text; by default whole items."),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="Rank words by embeddings and matching words (hybrid), by embeddings (vector), or by matching words "
            "(lexical).",
        ),
    ] = "hybrid",
    correct: Annotated[
        bool, typer.Option("--correct/--as-typed", help="Correct words that no text holds, or take them as typed.")
    ] = True,
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
            "(partner), or anything alike (both); auto takes partner for words, else both.",
        ),
    ] = "auto",
    thumbnails: Annotated[bool, typer.Option(help="Draw images where the terminal can.")] = True,
    as_json: AsJson = False,
    url: ServerUrl = None,
) -> None:
    """Find the items that belong to words, images and items of the index: one of them, or a mixture.

    Each option may be given several times. A number after ^ weighs a part, a negative one leads away from it:
    --text "snow^2" --text "people^-0.5" --image slope.jpg. To search for x^2 itself, write --text "x^2^1".
    """
    parts = query_parts(text or [], image or [], like or [], " ".join(words or []))
    with Searcher.open(index, url=url) as searcher:
        answer = searcher.search(
            parts,
            into=into,
            k=top,
            offset=offset,
            where=where,
            min_probability=min_probability,
            purpose=purpose,
            mode=mode,
            correct=correct,
        )
        if as_json:
            typer.echo(json.dumps(asdict(answer), indent=2, ensure_ascii=False))
            return
        console = output_console()
        for line in remarks(answer, min_probability):
            console.print(escape(line), highlight=False, soft_wrap=True)
        if answer.hits:
            shown = searcher.thumbnail if thumbnails and shows_pictures(console) else None
            console.print(hit_table(answer.hits, shown, offset + 1))
    of = f" of {answer.total:,}" if answer.total is not None else ""
    done = f"{len(answer.hits)}{of} found in {answer.seconds:.3f} s by {answer.mode} search"
    Console(stderr=True).print(done, highlight=False)


def remarks(answer: Answer, asked: float) -> list[str]:
    """What is to be said beside the hits: corrections, ignored words, and that nothing is close."""
    lines = []
    if answer.did_you_mean is not None:
        said = "showing results for" if answer.corrected else "did you mean"
        lines.append(f"{said}: {answer.did_you_mean}")
    if answer.ignored:
        lines.append(f"ignored: {', '.join(answer.ignored)}")
    if answer.hits:
        return [*lines, "Nothing close enough; here is the nearest."] if answer.nothing_close else lines
    if answer.closest is not None and asked > 0:
        chance = f"the closest belongs with a probability of {answer.closest:.0%}, and {asked:.0%} was asked."
        return [*lines, f"nothing matches: {chance}"]
    return [*lines, "Nothing close enough." if answer.nothing_close else "nothing matches."]
