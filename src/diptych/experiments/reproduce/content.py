"""All that a reproduction found, as the dictionary that becomes `reproduction.json`; the page is made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from diptych.experiments.reproduce.inputs import InputReport
from diptych.experiments.reproduce.lineup import row_of
from diptych.experiments.reproduce.plans import INDUCTIVE, TRANSDUCTIVE
from diptych.experiments.reproduce.published import CITATION
from diptych.experiments.reproduce.standings import CODES, Codes, Standings, across
from diptych.experiments.reproduce.steps import rank
from diptych.experiments.reproduce.studies import Part, Study
from diptych.experiments.reproduce.verdicts import RULES, judge_claims

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
        "fit_seconds": sum(_seconds(results) for results in findings.results.values()),
        "environment": first["environment"],
    }


def join_parts(study: Study, command: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What was found for each description of the items, under one title."""
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
            codes: [step.to_json() for step in rank({m: each.items(codes, "map") for m, each in complete.items()})]
            for codes in CODES
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
    } | {codes: standing.figures(codes) for codes in CODES}


def _claims(findings: Findings) -> list[dict[str, Any]]:
    differ = "" if findings.inputs.same else findings.inputs.words
    claims = claims_of(findings.study)
    found: dict[str, dict[str, dict[str, Any]]] = {}

    def judge(where: str, judged: Sequence[Claim], codes: Codes) -> None:
        evidence = (
            across(findings.standings, _names_across(), codes)
            if where == BETWEEN
            else findings.standings[where].evidence(codes, differ)
        )
        for key, verdict in judge_claims(judged, evidence).items():
            found.setdefault(key, {}).setdefault(where, {})[codes] = verdict.to_json()

    for codes in CODES:
        for protocol in PROTOCOLS:
            judge(protocol, claims, codes)
        judge(BETWEEN, ACROSS, codes)
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


def _names_across() -> dict[tuple[str, str], str]:
    return {(protocol, method): under(method, protocol) for protocol in PROTOCOLS for method in POOLED}


def _published(study: Study, claim: Claim) -> dict[str, float]:
    """The published averages of the methods a claim speaks of, the highest first."""
    if isinstance(claim, FiguresClaim):
        return {}
    methods, measure = (claim.methods, claim.measure) if isinstance(claim, OrderClaim) else ((claim.method,), "map")
    figures = {m: study.published[m][measure][2] for m in methods if measure in study.published.get(m, {})}
    return dict(sorted(figures.items(), key=lambda pair: -pair[1]))


def _seconds(results: Mapping[str, Any]) -> float:
    return float(sum(run["fit_seconds"] for block in results["methods"].values() for run in block["runs"]))
