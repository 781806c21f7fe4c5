"""Results of a search for a terminal: with pictures where it can show colours."""

from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import zip_longest

import numpy as np
from rich.color import Color
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table

from diptych.search import Hit

_COLUMNS, _LINES = 20, 8
_TEXT = 200


def shows_pictures(console: Console) -> bool:
    """Whether a console can show half a block of any colour."""
    return console.is_terminal and console.color_system in ("truecolor", "256") and not console.legacy_windows


def hit_table(hits: Sequence[Hit], thumbnail: Callable[[str], bytes | None] | None, first: int = 1) -> Table:
    """A row for each result.

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
    table.add_column("belongs", justify="right")
    table.add_column("label")
    table.add_column("text")
    table.add_column("why")
    for rank, hit in enumerate(hits, start=first):
        picture = [_drawn(thumbnail(hit.id))] if thumbnail is not None else []
        table.add_row(
            str(rank),
            *picture,
            escape(hit.id),
            f"{hit.score:.3f}",
            "" if hit.probability is None else f"{hit.probability:.0%}",
            escape(_labels(hit)),
            escape(_shortened(str(hit.metadata.get("text", "")))),
            escape(_reason(hit)),
        )
    return table


def half_blocks(data: bytes, columns: int = _COLUMNS, lines: int = _LINES) -> Segments:
    """A picture as lines of upper half blocks: each character shows two pixels, one above the other."""
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
    """Which typed words its text holds, or else which side is alike."""
    return ", ".join(hit.why.words) if hit.why.words else hit.why.side or ""


def _labels(hit: Hit) -> str:
    label = hit.metadata.get("label")
    return ", ".join(map(str, label)) if isinstance(label, list) else str(label or "")


def _shortened(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _TEXT else plain[:_TEXT].rsplit(" ", 1)[0] + " …"
