"""The findings of a reproduction: `reproduction.json`, and the page made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diptych._core.rendering import escape, table
from diptych.experiments.reproduce.claims import (
    ACROSS,
    OUR_QUESTION,
    POOLED,
    Claim,
    FiguresClaim,
    OrderClaim,
    claims_of,
    under,
)
from diptych.experiments.reproduce.page_tables import (
    averages_lines,
    claim_lines,
    claims_table,
    comparable,
    environment_lines,
    finding,
    lower_headings,
    ranking_lines,
    score_lines,
    side_by_side_lines,
    verdict_counts,
)
from diptych.experiments.reproduce.preparation import InputReport
from diptych.experiments.reproduce.standings import (
    INDUCTIVE,
    MEASURES,
    TRANSDUCTIVE,
    VARIANTS,
    Standings,
    Variant,
    across,
)
from diptych.experiments.reproduce.studies import CITATION, Part, Study, row_of
from diptych.experiments.reproduce.verdicts import RULES, judge_claims, rank

PROTOCOLS = (TRANSDUCTIVE, INDUCTIVE)
"""The paper's own protocol first."""
BETWEEN = "between protocols"


@dataclass(frozen=True)
class Findings:
    """What the comparisons left behind.

    Attributes:
        study: what was reproduced.
        part: the description of the items, when the study has several.
        command: as a person would type it.
        results: the content of each comparison's `results.json`, by protocol.
        standings: every method under each protocol.
        inputs: beside the paper's.
        source: how the dataset was made, in words.
    """

    study: Study
    part: Part | None
    command: str
    results: Mapping[str, Mapping[str, Any]]
    standings: Mapping[str, Standings]
    inputs: InputReport
    source: str


def assemble(findings: Findings) -> dict[str, Any]:
    """Judge every claim and put everything that was found in one place."""
    first = findings.results[INDUCTIVE]
    return {
        "study": findings.study.name,
        "title": findings.part.title if findings.part else findings.study.title,
        "paper": CITATION,
        "command": findings.command,
        "dataset": dict(first["dataset"]) | {"source": findings.source},
        "inputs": findings.inputs.to_json() | {"caveat": findings.study.caveat},
        "seeds": first["protocol"]["seeds"],
        "published_on": findings.study.published_on,
        "directions": list(findings.study.directions),
        "chance": first["chance"],
        "protocols": {name: _protocol(findings, name) for name in PROTOCOLS},
        "claims": _claims(findings),
        "rules": list(RULES),
        "fit_seconds": sum(
            sum(run["fit_seconds"] for block in results["methods"].values() for run in block["runs"])
            for results in findings.results.values()
        ),
        "environment": first["environment"],
    }


def join_parts(study: Study, command: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Findings for each description of the items, under one title."""
    return {
        "study": study.name,
        "title": study.title,
        "paper": CITATION,
        "command": command,
        "caveat": study.caveat,
        "parts": {part.name: found for part, found in zip(study.parts, parts, strict=True)},
    }


def parts_of(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a reproduction; one that has no parts is its own."""
    return list(content["parts"].values()) if "parts" in content else [content]


def _protocol(findings: Findings, name: str) -> dict[str, Any]:
    standings, results = findings.standings[name], findings.results.get(name)
    complete = {m: each for m, each in standings.methods.items() if m not in standings.missing}
    return {
        "words": results["protocol"]["words"] if results else "no method that was run reads unlabelled items",
        "methods": {method: _method(findings, standings, method) for method in standings.methods},
        "missing": dict(standings.missing),
        "ranking": {
            variant: [step.to_json() for step in rank({m: each.items(variant, "map") for m, each in complete.items()})]
            for variant in VARIANTS
        },
    }


def _method(findings: Findings, standings: Standings, method: str) -> dict[str, Any]:
    standing, row = standings.methods[method], row_of(method)
    published = findings.study.published.get(method, {})
    return {
        "title": row.title,
        "group": row.group,
        "seeds": standing.block["seeds"],
        "deterministic": standing.block["deterministic"],
        "saw": standing.block["saw"],
        "shared_with_inductive": standing.shared,
        "inputs": findings.inputs.of_row(row),
        "published": {measure: list(triple) for measure, triple in published.items()},
        "fit_seconds": standing.block["fit_seconds"],
    } | {variant: standing.figures(variant) for variant in VARIANTS}


def _claims(findings: Findings) -> list[dict[str, Any]]:
    differ = "" if findings.inputs.same else findings.inputs.words
    claims = claims_of(findings.study)
    names_across = {(protocol, method): under(method, protocol) for protocol in PROTOCOLS for method in POOLED}
    found: dict[str, dict[str, dict[str, Any]]] = {}

    def judge(where: str, judged: Sequence[Claim], variant: Variant) -> None:
        evidence = (
            across(findings.standings, names_across, variant)
            if where == BETWEEN
            else findings.standings[where].evidence(variant, differ)
        )
        for key, verdict in judge_claims(judged, evidence).items():
            found.setdefault(key, {}).setdefault(where, {})[variant] = verdict.to_json()

    for variant in VARIANTS:
        for protocol in PROTOCOLS:
            judge(protocol, claims, variant)
        judge(BETWEEN, ACROSS, variant)
    return [
        {
            "key": claim.key,
            "claim": claim.text,
            "of_paper": claim is not OUR_QUESTION,
            "measure": claim.measure if isinstance(claim, OrderClaim) else None,
            "published": _published(findings.study, claim),
            "verdicts": found[claim.key],
        }
        for claim in (*claims, *ACROSS)
    ]


def _published(study: Study, claim: Claim) -> dict[str, float]:
    """The published averages of the methods that a claim mentions, the highest first."""
    if isinstance(claim, FiguresClaim):
        return {}
    methods, measure = (claim.methods, claim.measure) if isinstance(claim, OrderClaim) else ((claim.method,), "map")
    figures = {m: study.published[m][measure][2] for m in methods if measure in study.published.get(m, {})}
    return dict(sorted(figures.items(), key=lambda pair: -pair[1]))


_PROTOCOL_TITLES = {
    "transductive": "Transductive: training also sees the features of test items, as in the paper",
    "inductive": "Inductive: training sees the training split alone",
}


APPENDIX = "reproduction-appendix.md"


def render_page(content: Mapping[str, Any]) -> str:
    """Write the page from the content of `reproduction.json`: findings and settings; the appendix has the rest."""
    parts, several = parts_of(content), "parts" in content
    about = f"This page reruns the comparison of the CDMLMR paper on {content['title']} and says which claims hold."
    lines = [*_title(content, "", about), "", "## Findings", ""]
    found = [finding(part) for part in parts]
    if several:
        lines += [f"- {part['title']}: {words}" for part, words in zip(parts, found, strict=True)]
    else:
        lines += [found[0][0].upper() + found[0][1:]]
    lines += ["", content["caveat"]] if several else []
    lines += ["", "The claims, with plain cosine:", "", *claims_table(parts), "", *averages_lines(parts)]
    lines += ["", "## How to reproduce", "", *_console(content)]
    for part in parts:
        lines += ["", *([f"**{part['title']}.**", ""] if several else []), *_setting(part, several)]
    lines += [
        "",
        f"[All tables]({APPENDIX}): both protocols and directions, the first 50 results, z-scored embeddings,",
    ]
    lines += ["adjacent methods in the ranking, the decisive comparisons, and versions."]
    return "\n".join(lines) + "\n"


def render_appendix(content: Mapping[str, Any]) -> str:
    """Write every table of a reproduction."""
    lines = _title(content, ", all tables", "This appendix has every table of [the reproduction](reproduction.md).")
    if "parts" not in content:
        return "\n".join([*lines, "", *_part_lines(content)]) + "\n"
    lines += ["", *side_by_side_lines(content)]
    for part in content["parts"].values():
        lines += ["", f"## {part['title']}", "", lower_headings("\n".join(_part_lines(part)))]
    return "\n".join(lines) + "\n"


def _title(content: Mapping[str, Any], more: str, about: str) -> list[str]:
    title = f"# {content['title']}: the CDMLMR paper reproduced{more}"
    return [title, "", about, "", f"Paper: {content['paper']}"]


def _part_lines(content: Mapping[str, Any]) -> list[str]:
    """All about one dataset."""
    counts = verdict_counts(content)
    lines = [f"{counts[0].upper()}{counts[1:]}. {comparable(content)}", "", *claim_lines(content)]
    for protocol in content["protocols"]:
        lines += ["", f"## {_PROTOCOL_TITLES[protocol]}", "", f"Training saw: {_words(content, protocol)}."]
        for measure in MEASURES:
            lines += ["", *score_lines(content, protocol, "plain", measure)]
        lines += ["", *ranking_lines(content, protocol, "plain")]
        for measure in MEASURES:
            lines += ["", *score_lines(content, protocol, "z-scored", measure)]
        for name, reason in content["protocols"][protocol]["missing"].items():
            lines += ["", f"`{escape(name)}` {escape(reason)}"]
    return [*lines, "", *environment_lines(content)]


def _console(content: Mapping[str, Any]) -> list[str]:
    """The command, and what the person who ran it has to say."""
    note = escape(content["note"])
    return ["```console", f"$ {content['command']}", "```", *(["", note] if note else [])]


def _setting(content: Mapping[str, Any], several: bool) -> list[str]:
    dataset, chance = content["dataset"], content["chance"]
    splits = ", ".join(f"{count:,} {name}" for name, count in dataset["splits"].items())
    rows = [[name, each["paper"], escape(each["here"])] for name, each in content["inputs"]["modalities"].items()]
    hours = content["fit_seconds"] / 3600
    lines = [
        comparable(content),
        "",
        f"Dataset `{dataset['fingerprint']}`: {splits} items, {len(dataset['classes'])} classes"
        + (f"; {escape(dataset['source'])}." if dataset["source"] else "."),
        f"Seeds {', '.join(map(str, content['seeds']))}. Fitting took {hours:.2f} hours, counting every run as if from "
        f"a cold cache. Chance level: MAP {chance['map']:.3f}, MAP@50 {chance['map@50']:.3f}.",
        "",
        *table(["input", "the paper", "here"], rows, numbers=()),
    ]
    caveat = content["inputs"]["caveat"]
    return [*lines, "", caveat] if caveat and not several else lines


def _words(content: Mapping[str, Any], protocol: str) -> str:
    found = content["protocols"][protocol]
    shared = any(each["shared_with_inductive"] for each in found["methods"].values())
    return escape(found["words"]) + ("; methods that do not read this pool share their inductive run" if shared else "")
