"""The parts of the page that hold figures: our means beside the published ones, and the ranking."""

from collections.abc import Mapping
from typing import Any

from diptych.experiments.reproduce.lineup import GROUP_TITLES
from diptych.experiments.reproduce.wording import plain, show_p, table

_MEASURE_TITLES = {"map": "MAP over all results", "map@50": "MAP over the first 50"}
_INPUTS = "inputs against the paper's"
CODES_TITLES = {"plain": "plain cosine", "z-scored": "z-scored codes"}


def score_lines(content: Mapping[str, Any], protocol: str, codes: str, measure: str) -> list[str]:
    """One table: directions and average with interval and spread, published figures, and how the inputs differ."""
    columns = [*content["directions"], "average"]
    arrows = [column.replace("->", " → ") for column in columns]
    where = f" on {content['published_on']}" if content["published_on"] else ""
    published = f"published{where}: {' / '.join(arrows)}"
    heads = ["method", *arrows, "± seeds", published, "saw", *([_INPUTS] if codes == "plain" else [])]
    rows: list[list[str]] = []
    for group, title in GROUP_TITLES.items():
        members = {m: e for m, e in content["protocols"][protocol]["methods"].items() if e["group"] == group}
        if members:
            rows.append([f"*{title}*"] + [""] * (len(heads) - 1))
        rows += [_row(name, each, codes, measure, columns)[: len(heads)] for name, each in members.items()]
    rows.append(_chance_row(content, measure, columns)[: len(heads)])
    return [
        f"### {_MEASURE_TITLES[measure]}, {CODES_TITLES[codes]}, {protocol}",
        "",
        *table(heads, rows, numbers=[*arrows, "± seeds", published]),
    ]


def ranking_lines(content: Mapping[str, Any], protocol: str, codes: str) -> list[str]:
    """Every method against the next in the ranking by average MAP."""
    steps = content["protocols"][protocol]["ranking"][codes]
    rows = []
    for place, step in enumerate(steps, start=1):
        low, high = step["difference_ci95"]
        rows.append(
            [
                str(place),
                f"`{plain(step['higher'])}`",
                f"`{plain(step['lower'])}`",
                f"{step['difference']:+.3f} ({low:+.3f} to {high:+.3f})",
                show_p(step["p_value"]),
                show_p(step["p_holm"]),
            ]
        )
    heads = ["place", "method", "the next", "difference (95 %)", "p", "p, Holm"]
    title = f"### Neighbours in the ranking, {CODES_TITLES[codes]}, {protocol}"
    why = "Paired sign-flip tests over the items, two-sided, corrected for the number of neighbours (Holm)."
    if not rows:
        return [title, "", "Fewer than two methods finished, so there are no neighbours."]
    return [title, "", why, "", *table(heads, rows, numbers=["place", "difference (95 %)"])]


def _row(name: str, method: Mapping[str, Any], codes: str, measure: str, columns: list[str]) -> list[str]:
    spread = method[codes]["average"][f"{measure}_std"]
    triple = method["published"].get(measure)
    title = plain(method["title"])
    return [
        f"`{plain(name)}`" if title == name else f"{title} (`{plain(name)}`)",
        *(_score(method[codes][column], measure) for column in columns),
        "–" if spread is None else f"{spread:.3f}",
        " / ".join(f"{value:.3f}" for value in triple) if triple else "–",
        plain(method["saw"]) + (", inductive run" if method["shared_with_inductive"] else ""),
        plain(method["inputs"]),
    ]


def _score(scores: Mapping[str, Any], measure: str) -> str:
    low, high = scores[f"{measure}_ci95"]
    return f"{scores[measure]:.3f} ({low:.3f}–{high:.3f})"


def _chance_row(content: Mapping[str, Any], measure: str, columns: list[str]) -> list[str]:
    chance = content["chance"]
    levels = [chance if column == "average" else chance[column] for column in columns]
    return ["random ranking, exact", *(f"{level[measure]:.3f}" for level in levels), "", "", "nothing", ""]
