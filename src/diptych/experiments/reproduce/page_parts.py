"""The page of a study whose items are described in several ways: all of them side by side, then each on its own."""

import re
from collections.abc import Mapping
from typing import Any

from diptych.experiments.reproduce.page_claims import words_of
from diptych.experiments.reproduce.page_scores import CODES_TITLES
from diptych.experiments.reproduce.wording import plain, table

_HEADING = re.compile(r"^(#+ )", re.MULTILINE)


def side_by_side_lines(content: Mapping[str, Any]) -> list[str]:
    """What each method achieves and what becomes of each claim, one column for each description."""
    parts = content["parts"]
    first = next(iter(parts.values()))
    lines = ["## Side by side"]
    for protocol in first["protocols"]:
        for codes in CODES_TITLES:
            lines += ["", *_score_lines(parts, protocol, codes)]
    lines += ["", "### The claims, plain cosine", ""]
    heads = [f"{part['title']}, {name}" for part in parts.values() for name in part["protocols"]]
    rows = []
    for number, claim in enumerate(first["claims"]):
        cells = [
            words_of(part["claims"][number], name, "plain") for part in parts.values() for name in part["protocols"]
        ]
        rows.append([claim["claim"], *cells])
    return [*lines, *table(["claim", *heads], rows)]


def lower_headings(page: str) -> str:
    r"""A page as a part of another: each heading a level lower.

    >>> lower_headings("# Title\ntext # 1\n## Section")
    '## Title\ntext # 1\n### Section'
    """
    return _HEADING.sub(r"#\1", page)


def _score_lines(parts: Mapping[str, Mapping[str, Any]], protocol: str, codes: str) -> list[str]:
    """A table of averages of both directions: by method, for each description."""
    first = next(iter(parts.values()))
    methods = dict.fromkeys(name for part in parts.values() for name in part["protocols"][protocol]["methods"])
    heads = [part["title"] for part in parts.values()]
    published = f"published on {first['published_on']}"
    rows = []
    for name in methods:
        found = [part["protocols"][protocol]["methods"].get(name) for part in parts.values()]
        known = next(each for each in found if each)
        triple = known["published"].get("map")
        title = plain(known["title"])
        rows.append(
            [
                f"`{name}`" if title == name else f"{title} (`{name}`)",
                *("–" if each is None else _cell(each[codes]["average"]) for each in found),
                f"{triple[2]:.3f}" if triple else "–",
            ]
        )
    rows.append(["random ranking, exact", *(f"{part['chance']['map']:.3f}" for part in parts.values()), ""])
    return [
        f"### MAP over all results, average of both directions, {CODES_TITLES[codes]}, {protocol}",
        "",
        *table(["method", *heads, published], rows, numbers=[*heads, published]),
    ]


def _cell(scores: Mapping[str, Any]) -> str:
    low, high = scores["map_ci95"]
    spread = "" if scores["map_std"] is None else f" ± {scores['map_std']:.3f}"
    return f"{scores['map']:.3f}{spread} ({low:.3f}–{high:.3f})"
