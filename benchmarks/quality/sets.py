"""The sets that are searched: files to ingest, what is known of every item, and the queries asked of it."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.quality.judging import Fields, JudgedQuery, read_queries, words_of
from benchmarks.quality.npm import UnavailableError, unpacked
from diptych._core.errors import ConfigError
from diptych._core.files import write_text
from diptych.data.emoji import make_emoji
from diptych.data.emoji_catalogue import character, read_catalogue

QUERIES = Path(__file__).parent / "queries"
RSICD = Path(__file__).parents[3] / "shared" / "data" / "rsicd"
ICONS_PACKAGE, KEYWORDS_PACKAGE = "@tabler/icons@3.51.0", "emojilib@4.0.3"
ICON_PIXELS = 224


@dataclass(frozen=True)
class SearchedSet:
    """A set of images and texts that can be ingested, with queries.

    Attributes:
        name: such as "emoji".
        pairs: the table to ingest.
        images: where its images are; None for the table's own folder.
        fields: by the item's id, what rules may ask of it; more than the indexed text tells.
        queries: what is asked.
        about: one sentence on what is indexed and what judges.
    """

    name: str
    pairs: Path
    images: Path | None
    fields: Mapping[str, Fields]
    queries: tuple[JudgedQuery, ...]
    about: str


def emoji(folder: Path) -> SearchedSet:
    """The emoji sample as the demo makes it; judged by Unicode's subgroups and the keywords of `emojilib`."""
    try:
        sample, catalogue = make_emoji(folder / "emoji"), read_catalogue()
    except ConfigError as reason:
        raise UnavailableError(str(reason)) from None
    package = unpacked(KEYWORDS_PACKAGE, folder / "packages")
    keywords = json.loads((package / "dist" / "emoji-en-US.json").read_text(encoding="utf-8"))
    fields = {
        one.code: {
            "group": [one.group],
            "subgroup": [one.subgroup],
            "name": [one.name],
            "keywords": keywords.get(character(one.code), []),
            "words": [one.name, *keywords.get(character(one.code), [])],
        }
        for one in catalogue
    }
    about = (
        f"{len(fields):,} emoji from `diptych sample emoji`, indexed with name and keywords; judged by "
        "Unicode's groups and subgroups and by the keywords of the npm package `emojilib`, which are not indexed."
    )
    return SearchedSet("emoji", sample.pairs, None, fields, queries_of("emoji"), about)


def icons(folder: Path) -> SearchedSet:
    """Tabler's icons, indexed with their names and every second tag; judged by all tags and the category."""
    package = unpacked(ICONS_PACKAGE, folder / "packages")
    known = json.loads((package / "icons.json").read_text(encoding="utf-8"))
    target = folder / "icons"
    rows = [_icon_row(name, one) for name, one in known.items()]
    for row in rows:
        _draw_icon(package / "icons" / "outline" / f"{row['id']}.svg", target / row["image"])
    _write_rows(target / "pairs.jsonl", rows)
    fields = {
        name: {
            "name": [name],
            "category": [one["category"]],
            "tags": [str(tag) for tag in one["tags"]],
            "words": [name, *(str(tag) for tag in one["tags"])],
        }
        for name, one in known.items()
    }
    about = (
        f"{len(fields):,} icons of the npm package `@tabler/icons`, indexed with their names and every second tag; "
        "judged by all tags and the 41 categories, so half of the tags that judge are not indexed."
    )
    return SearchedSet("icons", target / "pairs.jsonl", None, fields, queries_of("icons"), about)


def rsicd(folder: Path) -> SearchedSet:
    """Aerial images, indexed with the first of five captions; judged by class and by all captions."""
    source = RSICD / "pairs.jsonl"
    if not source.exists():
        raise UnavailableError(f"RSICD is not in {RSICD}; it cannot be downloaded.")
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    indexed = [{**row, "id": Path(row["image"]).stem, "captions": row["captions"][:1]} for row in rows]
    target = folder / "rsicd" / "pairs.jsonl"
    _write_rows(target, indexed)
    fields = {
        shown["id"]: {"class": [row["label"]], "captions": row["captions"], "agreed": agreed_words(row["captions"])}
        for shown, row in zip(indexed, rows, strict=True)
    }
    about = (
        f"{len(fields):,} aerial images of RSICD, indexed with the first of their five captions; judged by the 30 "
        "classes and by all five captions."
    )
    return SearchedSet("rsicd", target, RSICD / "images.tar", fields, queries_of("rsicd"), about)


SETS: Mapping[str, Callable[[Path], SearchedSet]] = {"emoji": emoji, "icons": icons, "rsicd": rsicd}
"""How each set is made below a folder; a set that cannot be had raises `UnavailableError` with the reason."""


def queries_of(name: str) -> tuple[JudgedQuery, ...]:
    """The queries of a set."""
    return tuple(read_queries((QUERIES / f"{name}.tsv").read_text(encoding="utf-8")))


def agreed_words(captions: Sequence[str]) -> list[str]:
    """The words that two captions or more hold, singular or plural.

    >>> agreed_words(["two planes", "a plane on a runway"])
    ['plane', 'planes']
    """
    counts = Counter(word for caption in captions for word in {word.rstrip("s") for word in words_of(caption)})
    return sorted({word for caption in captions for word in words_of(caption) if counts[word.rstrip("s")] > 1})


def _icon_row(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    tags = [str(tag).replace("-", " ") for tag in known["tags"][::2]]
    text = ", ".join([name.replace("-", " "), *tags])
    return {"id": name, "image": f"images/{name}.png", "text": text, "label": known["category"]}


def _draw_icon(source: Path, target: Path) -> None:
    """Draw an icon in black on white, unless it is there."""
    if target.exists():
        return
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError:
        raise UnavailableError("icons are drawn by resvg-py; install it with: pip install 'diptych[demo]'") from None
    content = source.read_text(encoding="utf-8").replace("currentColor", "#000")
    drawn = svg_to_bytes(
        svg_string=content, width=ICON_PIXELS, height=ICON_PIXELS, background="white", skip_system_fonts=True
    )
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".part")  # thousands of small files: whole or absent, but not forced to disk
    temporary.write_bytes(bytes(drawn))
    temporary.replace(target)


def _write_rows(target: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    table = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if not target.exists() or target.read_text(encoding="utf-8") != table:
        write_text(target, table)
