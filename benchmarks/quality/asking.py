"""Ask an index the queries of a set in every mode, and judge what comes back."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.quality.judging import JudgedQuery
from benchmarks.quality.measures import DEPTH, ndcg, success
from benchmarks.quality.sets import SearchedSet
from benchmarks.quality.systems import MODES
from diptych.evaluation.statistics import compare, mean_interval
from diptych.search import QueryPart, Searcher


@dataclass(frozen=True)
class Asked:
    """The answer to one query in one mode.

    Attributes:
        query: what was asked.
        items: the items found, best first.
        nothing_close: whether the search said that nothing is close enough.
        seconds: what it took.
        mode: by which evidence the hits were ranked, which is another than asked for where an index cannot do that.
    """

    query: JudgedQuery
    items: tuple[str, ...]
    nothing_close: bool
    seconds: float
    mode: str


def ask(index: Path, queries: Sequence[JudgedQuery]) -> dict[str, list[Asked]]:
    """The answers of an index by mode; modes it cannot answer in are left out."""
    answers: dict[str, list[Asked]] = {}
    with Searcher.open(index) as searcher:
        searcher.warm()
        for mode in MODES:
            asked = [_ask_one(searcher, query, mode) for query in queries]
            if all(each.mode == mode for each in asked):
                answers[mode] = asked
    return answers


def _ask_one(searcher: Searcher, query: JudgedQuery, mode: str) -> Asked:
    answer = searcher.search([QueryPart("text", query.text)], k=DEPTH, mode=mode)  # type: ignore[arg-type]
    items = tuple(hit.item for hit in answer.hits)
    return Asked(query, items, answer.nothing_close, answer.seconds, answer.mode)


def judge(searched: SearchedSet, answers: Mapping[str, Sequence[Asked]]) -> dict[str, Any]:
    """The figures of one index: for each mode, and of hybrid against the better of the others."""
    judged = {
        query.text: dict(zip(searched.fields, query.grades(list(searched.fields.values())), strict=True))
        for query in searched.queries
        if not query.absent
    }
    figures: dict[str, Any] = {"modes": {mode: _figures(asked, judged) for mode, asked in answers.items()}}
    others = [mode for mode in answers if mode != "hybrid"]
    if "hybrid" in answers and others:
        better = max(others, key=lambda mode: float(figures["modes"][mode]["ndcg"]))
        scores = {mode: figures["modes"][mode]["per_query"] for mode in ("hybrid", better)}
        compared = compare(list(scores["hybrid"].values()), list(scores[better].values()))
        figures["hybrid_gain"] = {"over": better, **compared.to_json()}
    return figures


def _figures(asked: Sequence[Asked], judged: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    present = [each for each in asked if not each.query.absent]
    absent = [each for each in asked if each.query.absent]
    grades = [[judged[each.query.text][item] for item in each.items] for each in present]
    scores = [ndcg(found, list(judged[each.query.text].values())) for each, found in zip(present, grades, strict=True)]
    halves = [each.query.half for each in present]
    kinds = [each.query.kind for each in present]
    return {
        "ndcg": statistics.fmean(scores),
        "ndcg_ci95": list(mean_interval(scores)),
        "ndcg_by_half": {half: _mean_where(scores, halves, half) for half in ("dev", "test")},
        "ndcg_by_kind": {kind: _mean_where(scores, kinds, kind) for kind in dict.fromkeys(kinds)},
        "success": statistics.fmean(success(found) for found in grades),
        "ms": 1000 * statistics.median(each.seconds for each in asked),
        "absent": len(absent),
        "absent_flagged": sum(each.nothing_close for each in absent),
        "present": len(present),
        "present_flagged": sum(each.nothing_close for each in present),
        "per_query": {each.query.text: score for each, score in zip(present, scores, strict=True)},
    }


def _mean_where(scores: Sequence[float], groups: Sequence[str], group: str) -> float:
    return statistics.fmean(score for score, each in zip(scores, groups, strict=True) if each == group)
