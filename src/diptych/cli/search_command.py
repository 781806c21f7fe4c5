"""`diptych search`: query an index, and show the hits in the terminal."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.color import Color
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table

from diptych._core.errors import ConfigError
from diptych.cli.console import output_console
from diptych.cli.options import AsJson, IndexFolder, Purpose, ServerUrl

if TYPE_CHECKING:
    from diptych.search import Answer, Hit, QueryPart

Mode = Literal["hybrid", "vector", "lexical"]

_NO_WEIGHT = re.compile(r"(?s).*\^(?P<after>[^\s^]*)")
_WEIGHTED = re.compile(r"(?s)(?P<value>.*)\^(?P<weight>[+-]?(?:\d+\.?\d*|\.\d+))")


def query_parts(
    texts: Sequence[str],
    images: Sequence[str],
    likes: Sequence[str],
    plain: str = "",
    sounds: Sequence[str] = (),
) -> list[QueryPart]:
    """Read the parts of a query such as `snow^2` or `beach.jpg^-0.5`, weighted after the last `^`; plain text has none.

    Raises:
        ConfigError: when there is no part, or a weight is not a number.
    """
    from diptych.search import QueryPart

    parts = [QueryPart("text", plain)] if plain.strip() else []
    parts += [QueryPart("text", value, weight) for value, weight in map(split_weight, texts)]
    parts += [QueryPart("image", Path(value), weight) for value, weight in map(split_weight, images)]
    parts += [QueryPart("audio", Path(value), weight) for value, weight in map(split_weight, sounds)]
    parts += [QueryPart("item", value, weight) for value, weight in map(split_weight, likes)]
    if not parts:
        raise ConfigError("there is nothing to search for; give a text, --text, --image, --audio or --like.")
    return parts


def split_weight(written: str) -> tuple[str, float]:
    """Split a value from its weight, 1 where none is written.

    >>> split_weight("snow^-0.5")
    ('snow', -0.5)
    >>> split_weight("x^2^1")
    ('x^2', 1.0)

    Raises:
        ConfigError: when what follows the last `^` is not a number.
    """
    found = _WEIGHTED.fullmatch(written)
    if found is None:
        wrong = _NO_WEIGHT.fullmatch(written)
        if wrong is not None:
            raise ConfigError(
                f"the weight in {written!r:.80} is {wrong['after']!r:.40}; after ^ comes a number, such as mug^2 or "
                f"mug^-0.5. To search for the sign itself, add a weight: {written + '^1'!r:.80}."
            )
        return written, 1.0
    weight = float(found["weight"])
    if not math.isfinite(weight):
        raise ConfigError(f"the weight in {written!r} is too large; write a number such as 2 or -0.5.")
    return found["value"], weight


def search(
    index: IndexFolder,
    plain: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT", help="Query text, as --text without a weight.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", "-t", metavar="TEXT[^WEIGHT]", help="Query by text.")
    ] = None,
    image: Annotated[
        list[str] | None, typer.Option("--image", "-i", metavar="FILE[^WEIGHT]", help="Query by an image.")
    ] = None,
    audio: Annotated[
        list[str] | None, typer.Option("--audio", "-a", metavar="FILE[^WEIGHT]", help="Query by a sound.")
    ] = None,
    like: Annotated[
        list[str] | None, typer.Option("--like", "-l", metavar="ID[^WEIGHT]", help="Query by an item of the index.")
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--in", metavar="MODALITY", help="Search one modality only: image, audio or text; whole items by default."
        ),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="Rank by embeddings and matching words (hybrid), by embeddings (vector), or by matching words "
            "(lexical).",
        ),
    ] = "hybrid",
    correct: Annotated[
        bool, typer.Option("--correct/--as-typed", help="Correct words that no text contains, or search them as typed.")
    ] = True,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="Number of hits.")] = 10,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Skip this many of the best hits.")] = 0,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="CONDITION", help="Filter, such as \"split = 'train' and label = 'river'\"."),
    ] = None,
    min_probability: Annotated[
        float,
        typer.Option(
            "--min-probability", "-p", metavar="P", help="Only hits that are relevant with at least this probability."
        ),
    ] = 0.0,
    purpose: Annotated[
        Purpose,
        typer.Option(
            "--purpose",
            help="If the index has several embedding spaces: find items of the same kind (class), the item's own "
            "partner (partner), or either (both); auto is partner for text, else both.",
        ),
    ] = "auto",
    thumbnails: Annotated[bool, typer.Option(help="Show images if the terminal supports it.")] = True,
    as_json: AsJson = False,
    url: ServerUrl = None,
) -> None:
    """Search an index with text, images, sounds, items of the index, or a mixture of them.

    Each option may be repeated. A number after ^ is the weight of a part of the query; a negative weight moves results
    away from it:
    --text "snow^2" --text "people^-0.5" --image slope.jpg. To search for x^2 itself, write --text "x^2^1".
    """
    from diptych.search import Searcher

    parts = query_parts(text or [], image or [], like or [], " ".join(plain or []), audio or [])
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
        for line in remarks(answer, min_probability, where):
            console.print(escape(line), highlight=False, soft_wrap=True)
        if answer.hits:
            shown = searcher.thumbnail if thumbnails and shows_images(console) else None
            console.print(hit_table(answer.hits, shown, offset + 1))
    of = f" of {answer.total:,}" if answer.total is not None else ""
    done = f"{len(answer.hits)}{of} found in {answer.seconds:.3f} s by {answer.mode} search"
    Console(stderr=True).print(done, highlight=False)


def remarks(answer: Answer, asked: float, where: str | None = None) -> list[str]:
    """Write what stands beside the hits: corrections, ignored words, and that nothing is close."""
    lines = []
    if answer.did_you_mean is not None:
        said = "showing results for" if answer.corrected else "did you mean"
        lines.append(f"{said}: {answer.did_you_mean}")
    if answer.ignored:
        lines.append(f"ignored: {', '.join(answer.ignored)}")
    if answer.hits:
        return [*lines, "Nothing is close enough; here is the nearest."] if answer.nothing_close else lines
    if answer.closest is not None and asked > 0:
        chance = f"the closest is relevant with a probability of {answer.closest:.0%}, and {asked:.0%} was asked."
        return [*lines, f"nothing matches: {chance}"]
    if where is not None and answer.total == 0:
        return [*lines, f"no item meets the condition {where}."]
    return [*lines, "Nothing is close enough." if answer.nothing_close else "nothing matches."]


_COLUMNS, _LINES = 20, 8
_TEXT = 200


def shows_images(console: Console) -> bool:
    """Return whether a console can show half a block of any colour."""
    return console.is_terminal and console.color_system in ("truecolor", "256") and not console.legacy_windows


def hit_table(hits: Sequence[Hit], thumbnail: Callable[[str], bytes | None] | None, first: int = 1) -> Table:
    """Make a table with a row for each hit.

    Args:
        hits: best first.
        thumbnail: gives the image of an id; None shows no images.
        first: the rank of the first.
    """
    table = Table(show_lines=thumbnail is not None)
    table.add_column("", justify="right")
    if thumbnail is not None:
        table.add_column("image", width=_COLUMNS, no_wrap=True)
    table.add_column("id", overflow="fold")
    table.add_column("score", justify="right")
    table.add_column("probability", justify="right")
    table.add_column("label")
    table.add_column("text")
    table.add_column("why")
    for rank, hit in enumerate(hits, start=first):
        image = [_drawn(thumbnail(hit.id))] if thumbnail is not None else []
        table.add_row(
            str(rank),
            *image,
            escape(hit.id),
            f"{hit.score:.3f}",
            "" if hit.probability is None else f"{hit.probability:.0%}",
            escape(_labels(hit)),
            escape(_shortened(str(hit.metadata.get("text", "")))),
            escape(_reason(hit)),
        )
    return table


def half_blocks(data: bytes, columns: int = _COLUMNS, lines: int = _LINES) -> Segments:
    """Draw an image as lines of upper half blocks: each character shows two pixels, one above the other."""
    import numpy as np
    from PIL import Image

    with Image.open(BytesIO(data)) as opened:
        small = opened.convert("RGB")
    small.thumbnail((columns, 2 * lines))
    pixels = np.asarray(small).tolist()
    segments = []
    for upper, lower in zip_longest(pixels[::2], pixels[1::2]):
        for column, colour in enumerate(upper):
            below = None if lower is None else Color.from_rgb(*lower[column])
            segments.append(Segment("▀", Style(color=Color.from_rgb(*colour), bgcolor=below)))
        segments.append(Segment.line())
    return Segments(segments[:-1])


def _drawn(data: bytes | None) -> Segments | str:
    return "" if data is None else half_blocks(data)


def _reason(hit: Hit) -> str:
    """The query words that its text contains, or else the modality that is similar."""
    return ", ".join(hit.why.words) if hit.why.words else hit.why.side or ""


def _labels(hit: Hit) -> str:
    label = hit.metadata.get("label")
    return ", ".join(map(str, label)) if isinstance(label, list) else str(label or "")


def _shortened(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _TEXT else plain[:_TEXT].rsplit(" ", 1)[0] + " …"
