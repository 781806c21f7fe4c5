"""The tables and sentences of a reproduction's page: findings, scores, rankings, verdicts, side by side."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from diptych._core.rendering import escape, table, with_interval
from diptych.experiments.report import show_p
from diptych.experiments.reproduce.studies import GROUP_TITLES

_MEASURE_TITLES = {"map": "MAP over all results", "map@50": "MAP over the first 50"}
_INPUTS = "inputs against the paper's"
VARIANT_TITLES = {"plain": "plain cosine", "z-scored": "z-scored embeddings"}


def finding(content: Mapping[str, Any]) -> str:
    """The number of reproduced claims, the best method, and the rank of the paper's own."""
    counts = verdict_counts(content)
    found = next(iter(content["protocols"].values()))
    scores = {name: each["plain"]["average"]["map"] for name, each in found["methods"].items() if name != "chance"}
    order = sorted(scores, key=lambda name: -scores[name])
    words = f"{counts}."
    if order:
        words += f" By average MAP with plain cosine, `{escape(order[0])}` is the best of {len(order)} methods "
        words += f"with {scores[order[0]]:.3f}"
        if "cdmlmr" in order[1:]:
            words += f"; `cdmlmr` has rank {order.index('cdmlmr') + 1} with {scores['cdmlmr']:.3f}"
        words += "."
    return words


def verdict_counts(content: Mapping[str, Any]) -> str:
    """How many claims are reproduced under the paper's own protocol with plain cosine."""
    protocol = next(iter(content["protocols"]))
    claims = [claim["verdicts"] for claim in content["claims"] if claim["of_paper"]]
    verdicts = [each.get(protocol) or next(iter(each.values())) for each in claims]
    counts = Counter(verdict["plain"]["outcome"] for verdict in verdicts)
    shown = f"{counts['reproduced']} are reproduced, {counts['not reproduced']} are not"
    return f"of {len(verdicts)} claims, {shown} and {counts['cannot be tested']} cannot be tested ({protocol} protocol)"


def comparable(content: Mapping[str, Any]) -> str:
    """Whether figures can be compared with the paper's."""
    if content["inputs"]["same_as_paper"]:
        return "The inputs are the paper's, so absolute figures can be compared."
    words = escape(content["inputs"]["words"])
    return f"**The inputs are not the paper's ({words}): compare only the order of methods, not absolute figures.**"


def environment_lines(content: Mapping[str, Any]) -> list[str]:
    """Versions, and the kind of machine."""
    versions, machine = content["environment"]["versions"], content["environment"]["machine"]
    shown = ", ".join(f"{name} {version}" for name, version in versions.items())
    kind = f"{machine['system']}, {machine['architecture']}, {escape(machine['processor'])}, {machine['cores']} cores"
    return ["## Computed with", "", f"{shown}; {kind}."]


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
    heads = ["place", "method", "next method", "difference (95 %)", "p", "p, Holm"]
    title = f"### Adjacent methods in the ranking, {VARIANT_TITLES[variant]}, {protocol}"
    why = "Two-sided paired sign-flip tests over the items, corrected for the number of comparisons (Holm)."
    if not rows:
        return [title, "", "Fewer than two methods finished, so there is nothing to compare."]
    return [title, "", why, "", *table(heads, rows, numbers=["place", "difference (95 %)"])]


def _row(name: str, method: Mapping[str, Any], variant: str, measure: str, columns: list[str]) -> list[str]:
    spread = method[variant]["average"][f"{measure}_std"]
    triple = method["published"].get(measure)
    title = escape(method["title"])
    return [
        f"`{escape(name)}`" if title == name else f"{title} (`{escape(name)}`)",
        *(with_interval(method[variant][c][measure], method[variant][c][f"{measure}_ci95"]) for c in columns),
        "–" if spread is None else f"{spread:.3f}",
        " / ".join(f"{value:.3f}" for value in triple) if triple else "–",
        escape(method["saw"]) + (", inductive run" if method["shared_with_inductive"] else ""),
        escape(method["inputs"]),
    ]


def _chance_row(content: Mapping[str, Any], measure: str, columns: list[str]) -> list[str]:
    chance = content["chance"]
    levels = [chance if column == "average" else chance[column] for column in columns]
    return ["random ranking (exact)", *(f"{level[measure]:.3f}" for level in levels), "", "", "nothing", ""]


_HEADING = re.compile(r"^(#+ )", re.MULTILINE)


def side_by_side_lines(content: Mapping[str, Any]) -> list[str]:
    """What each method achieves, one column for each description."""
    parts = list(content["parts"].values())
    lines = ["## Side by side"]
    for protocol in parts[0]["protocols"]:
        for variant in VARIANT_TITLES:
            lines += ["", *_score_lines(parts, protocol, variant)]
    return lines


def averages_lines(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each method achieves under the paper's own protocol by plain cosine, one column for each description."""
    return [line.removeprefix("#") for line in _score_lines(parts, next(iter(parts[0]["protocols"])), "plain")]


def claims_table(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The verdict on each claim with plain cosine, one column for each description and protocol."""
    lead = [f"{part['title']}, " if len(parts) > 1 else "" for part in parts]
    heads = [f"{title}{name}" for title, part in zip(lead, parts, strict=True) for name in part["protocols"]]
    rows = []
    for number, claim in enumerate(parts[0]["claims"]):
        cells = [words_of(part["claims"][number], name, "plain") for part in parts for name in part["protocols"]]
        rows.append([claim["claim"], *cells])
    return table(["claim", *heads], rows, numbers=())


def lower_headings(page: str) -> str:
    r"""A page as a part of another: each heading a level lower.

    >>> lower_headings("# Title\ntext # 1\n## Section")
    '## Title\ntext # 1\n### Section'
    """
    return _HEADING.sub(r"#\1", page)


def _score_lines(parts: Sequence[Mapping[str, Any]], protocol: str, variant: str) -> list[str]:
    """A table of averages of both directions: by method, for each description."""
    methods = dict.fromkeys(name for part in parts for name in part["protocols"][protocol]["methods"])
    heads = [part["title"] for part in parts] if len(parts) > 1 else ["here"]
    where = parts[0]["published_on"]
    published = f"published on {where}" if where else "published"
    rows = []
    for name in methods:
        found = [part["protocols"][protocol]["methods"].get(name) for part in parts]
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
    rows.append(["random ranking (exact)", *(f"{part['chance']['map']:.3f}" for part in parts), ""])
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
    """The rules, the verdicts with plain cosine and their decisive comparisons, and those on z-scored embeddings."""
    return [
        "## Verdicts",
        "",
        *(f"- {rule}" for rule in content["rules"]),
        "",
        *_verdicts(content, "plain"),
        "",
        "### Decisive comparisons",
        "",
        *_details(content),
        "",
        "### The same rules on z-scored embeddings",
        "",
        "The test embeddings of each modality are z-scored before the cosine. The authors' released evaluation scripts "
        "do this, but the paper does not mention it.",
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
    """The verdict on a claim; a claim that compares the protocols has one verdict for both."""
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
