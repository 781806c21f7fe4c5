"""The part of the page that says what became of each claim, and by which rules."""

from collections.abc import Mapping
from typing import Any

from diptych.experiments.reproduce.wording import plain, table


def claim_lines(content: Mapping[str, Any]) -> list[str]:
    """The rules, the verdicts on plain cosine with what decided them, and the verdicts on z-scored codes."""
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
        "### The same rules on z-scored codes",
        "",
        "Each modality's test codes are z-scored before the cosine, as the authors' released evaluation scripts do and "
        "the paper does not mention.",
        "",
        *_verdicts(content, "z-scored"),
    ]


def _verdicts(content: Mapping[str, Any], codes: str) -> list[str]:
    protocols = list(content["protocols"])
    rows = []
    for claim in content["claims"]:
        published = ", ".join(f"{name} {value:.3f}" for name, value in claim["published"].items()) or "–"
        rows.append([claim["claim"], published, *(words_of(claim, protocol, codes) for protocol in protocols)])
    return table(["claim", "published averages", *protocols], rows)


def words_of(claim: Mapping[str, Any], protocol: str, codes: str) -> str:
    """What became of a claim; one that compares the protocols has one verdict for both."""
    verdicts = claim["verdicts"]
    found = verdicts[protocol] if protocol in verdicts else next(iter(verdicts.values()))
    words = plain(found[codes]["words"])
    return f"**{words}**" if found[codes]["outcome"] == "reproduced" else words


def _details(content: Mapping[str, Any]) -> list[str]:
    lines = []
    for claim in content["claims"]:
        for where, verdict in claim["verdicts"].items():
            if verdict["plain"]["detail"]:
                lines.append(f"- {claim['claim']} ({where}): {plain(verdict['plain']['detail'])}.")
    return lines or ["Nothing could be tested."]
