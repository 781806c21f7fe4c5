"""The tables of a reproduction's page: scores, rankings, verdicts, and several descriptions side by side."""

import re
from collections.abc import Mapping
from typing import Any

from diptych._core.markdown import escape, table
from diptych.experiments.report import show_p
from diptych.experiments.reproduce.studies import GROUP_TITLES

_MEASURE_TITLES = {"map": "MAP over all results", "map@50": "MAP over the first 50"}
_INPUTS = "inputs against the paper's"
VARIANT_TITLES = {"plain": "plain cosine", "z-scored": "z-scored embeddings"}


def score_lines(content: Mapping[str, Any], protocol: str, variant: str, measure: str) -> list[str]:
    """One table: directions and average with interval and spread, published figures, and how the inputs differ."""
    columns = [*content["directions"], "average"]
    arrows = [column.replace("->", " → ") for column in columns]
    where = f" on {content['published_on']}" if content["published_on"] else ""
    published = f"published{where}: {' / '.join(arrows)}"
    heads = ["method", *arrows, "± seeds", published, "saw", *([_INPUTS] if variant == "plain" else [])]
    rows: list[list[str]] = []
    for group, title in GROUP_TITLES.items():
        members = {m: e for m, e in content["protocols"][protocol]["methods"].items() if e["group"] == group}
        if members:
            rows.append([f"*{title}*"] + [""] * (len(heads) - 1))
        rows += [_row(name, each, variant, measure, columns)[: len(heads)] for name, each in members.items()]
    rows.append(_chance_row(content, measure, columns)[: len(heads)])
    return [
        f"### {_MEASURE_TITLES[measure]}, {VARIANT_TITLES[variant]}, {protocol}",
        "",
        *table(heads, rows, numbers=[*arrows, "± seeds", published]),
    ]


def ranking_lines(content: Mapping[str, Any], protocol: str, variant: str) -> list[str]:
    """Every method against the next in the ranking by average MAP."""
    steps = content["protocols"][protocol]["ranking"][variant]
    rows = []
    for place, step in enumerate(steps, start=1):
        low, high = step["difference_ci95"]
        rows.append(
            [
                str(place),
                f"`{escape(step['higher'])}`",
                f"`{escape(step['lower'])}`",
                f"{step['difference']:+.3f} ({low:+.3f} to {high:+.3f})",
                show_p(step["p_value"]),
                show_p(step["p_holm"]),
            ]
        )
    heads = ["place", "method", "the next", "difference (95 %)", "p", "p, Holm"]
    title = f"### Neighbours in the ranking, {VARIANT_TITLES[variant]}, {protocol}"
    why = "Paired sign-flip tests over the items, two-sided, corrected for the number of neighbours (Holm)."
    if not rows:
        return [title, "", "Fewer than two methods finished, so there are no neighbours."]
    return [title, "", why, "", *table(heads, rows, numbers=["place", "difference (95 %)"])]


def _row(name: str, method: Mapping[str, Any], variant: str, measure: str, columns: list[str]) -> list[str]:
    spread = method[variant]["average"][f"{measure}_std"]
    triple = method["published"].get(measure)
    title = escape(method["title"])
    return [
        f"`{escape(name)}`" if title == name else f"{title} (`{escape(name)}`)",
        *(_score(method[variant][column], measure) for column in columns),
        "–" if spread is None else f"{spread:.3f}",
        " / ".join(f"{value:.3f}" for value in triple) if triple else "–",
        escape(method["saw"]) + (", inductive run" if method["shared_with_inductive"] else ""),
        escape(method["inputs"]),
    ]


def _score(scores: Mapping[str, Any], measure: str) -> str:
    low, high = scores[f"{measure}_ci95"]
    return f"{scores[measure]:.3f} ({low:.3f}–{high:.3f})"


def _chance_row(content: Mapping[str, Any], measure: str, columns: list[str]) -> list[str]:
    chance = content["chance"]
    levels = [chance if column == "average" else chance[column] for column in columns]
    return ["random ranking, exact", *(f"{level[measure]:.3f}" for level in levels), "", "", "nothing", ""]


_HEADING = re.compile(r"^(#+ )", re.MULTILINE)


def side_by_side_lines(content: Mapping[str, Any]) -> list[str]:
    """What each method achieves and what becomes of each claim, one column for each description."""
    parts = content["parts"]
    first = next(iter(parts.values()))
    lines = ["## Side by side"]
    for protocol in first["protocols"]:
        for variant in VARIANT_TITLES:
            lines += ["", *_score_lines(parts, protocol, variant)]
    lines += ["", "### The claims, plain cosine", ""]
    heads = [f"{part['title']}, {name}" for part in parts.values() for name in part["protocols"]]
    rows = []
    for number, claim in enumerate(first["claims"]):
        cells = [
            words_of(part["claims"][number], name, "plain") for part in parts.values() for name in part["protocols"]
        ]
        rows.append([claim["claim"], *cells])
    return [*lines, *table(["claim", *heads], rows, numbers=())]


def lower_headings(page: str) -> str:
    r"""A page as a part of another: each heading a level lower.

    >>> lower_headings("# Title\ntext # 1\n## Section")
    '## Title\ntext # 1\n### Section'
    """
    return _HEADING.sub(r"#\1", page)


def _score_lines(parts: Mapping[str, Mapping[str, Any]], protocol: str, variant: str) -> list[str]:
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
        title = escape(known["title"])
        rows.append(
            [
                f"`{name}`" if title == name else f"{title} (`{name}`)",
                *("–" if each is None else _cell(each[variant]["average"]) for each in found),
                f"{triple[2]:.3f}" if triple else "–",
            ]
        )
    rows.append(["random ranking, exact", *(f"{part['chance']['map']:.3f}" for part in parts.values()), ""])
    return [
        f"### MAP over all results, average of both directions, {VARIANT_TITLES[variant]}, {protocol}",
        "",
        *table(["method", *heads, published], rows, numbers=[*heads, published]),
    ]


def _cell(scores: Mapping[str, Any]) -> str:
    low, high = scores["map_ci95"]
    spread = "" if scores["map_std"] is None else f" ± {scores['map_std']:.3f}"
    return f"{scores['map']:.3f}{spread} ({low:.3f}–{high:.3f})"


def claim_lines(content: Mapping[str, Any]) -> list[str]:
    """The rules, the verdicts on plain cosine with what decided them, and the verdicts on z-scored embeddings."""
    return [
        "## Verdicts",
        "",
        *(f"- {rule}" for rule in content["rules"]),
        "",
        *_verdicts(content, "plain"),
        "",
        "### What decided",
        "",
        *_details(content),
        "",
        "### The same rules on z-scored embeddings",
        "",
        "Each modality's test embeddings are z-scored before the cosine, as the authors' released evaluation scripts "
        "do and the paper does not mention.",
        "",
        *_verdicts(content, "z-scored"),
    ]


def _verdicts(content: Mapping[str, Any], variant: str) -> list[str]:
    protocols = list(content["protocols"])
    rows = []
    for claim in content["claims"]:
        published = ", ".join(f"{name} {value:.3f}" for name, value in claim["published"].items()) or "–"
        rows.append([claim["claim"], published, *(words_of(claim, protocol, variant) for protocol in protocols)])
    return table(["claim", "published averages", *protocols], rows, numbers=())


def words_of(claim: Mapping[str, Any], protocol: str, variant: str) -> str:
    """What became of a claim; one that compares the protocols has one verdict for both."""
    verdicts = claim["verdicts"]
    found = verdicts[protocol] if protocol in verdicts else next(iter(verdicts.values()))
    words = escape(found[variant]["words"])
    return f"**{words}**" if found[variant]["outcome"] == "reproduced" else words


def _details(content: Mapping[str, Any]) -> list[str]:
    lines = []
    for claim in content["claims"]:
        for where, verdict in claim["verdicts"].items():
            if verdict["plain"]["detail"]:
                lines.append(f"- {claim['claim']} ({where}): {escape(verdict['plain']['detail'])}.")
    return lines or ["Nothing could be tested."]
