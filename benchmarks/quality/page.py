"""The page of search quality, written from `benchmarks/results/quality.json` alone."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.quality.systems import MODES

RESULTS = Path(__file__).parents[1] / "results" / "quality.json"
PAGE = Path(__file__).parents[2] / "docs" / "results" / "search-quality.md"

Figures = Mapping[str, Any]

_INTRODUCTION = """# Search quality

This page measures how well typed queries are answered. The queries are words, phrases, synonyms that no text
contains, plurals, misspellings and colours, on three sets. Results are judged **by rules on labels and metadata**,
never by a model: a result has grade 7 if it is what was meant and 1 if it is close to it. nDCG@10 compares the ten
results with the best possible ten; success@10 is the share of queries with a grade-7 result among them. Intervals are
95 % bootstrap intervals over queries. All items are searched, including those that the method was trained on.

The rules are stored with the queries in `benchmarks/quality/queries/` and were written before any system was run. Odd
queries (dev) may guide choices such as encoder and fusion; even ones (test) are only reported. `make quality`
measures everything again and writes this page."""


def write_page() -> None:
    """Write docs/results/search-quality.md."""
    PAGE.write_text(render(json.loads(RESULTS.read_text(encoding="utf-8"))), encoding="utf-8")


def render(results: Mapping[str, Any]) -> str:
    """The page."""
    sets = results["sets"]
    parts = [_INTRODUCTION, "\n".join(f"- **{name}**: {one['about']}" for name, one in sets.items())]
    parts += ["## Default settings", _defaults(sets)]
    parts += ["## Nothing close enough", _nothing_close(sets)]
    parts += ["## By kind of query", _kinds(sets)]
    parts += ["## Features", _choices(sets, "encoders")]
    parts += ["## Methods", _choices(sets, "methods")]
    machine = results["machine"]
    parts += [
        f"Measured on {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}. Times are medians over "
        "single queries; other work was running."
    ]
    return "\n\n".join(parts) + "\n"


def _defaults(sets: Mapping[str, Any]) -> str:
    rows = [
        _row(name, mode, system["modes"][mode], system.get("hybrid_gain") if mode == "hybrid" else None)
        for name, system in _default_systems(sets)
        for mode in MODES
        if mode in system["modes"]
    ]
    head = ("set", "mode", "nDCG@10", "dev / test", "success@10", "hybrid − better of the others", "ms")
    explained = ", ".join(f"{name}: {_features(system)}" for name, system in _default_systems(sets))
    return f"{explained}.\n\n{table(head, rows)}"


def _row(name: str, mode: str, figures: Figures, gain: Figures | None) -> tuple[str, ...]:
    halves = figures["ndcg_by_half"]
    return (
        name,
        mode,
        with_interval(figures["ndcg"], figures["ndcg_ci95"]),
        f"{three(halves['dev'])} / {three(halves['test'])}",
        three(figures["success"]),
        "" if gain is None else shown_gain(gain),
        f"{figures['ms']:.0f}",
    )


def _nothing_close(sets: Mapping[str, Any]) -> str:
    rows = []
    for name, system in _default_systems(sets):
        figures = system["modes"].get("hybrid")
        if figures is not None:
            absent = f"{figures['absent_flagged']} of {figures['absent']}"
            rows.append((name, absent, f"{figures['present_flagged']} of {figures['present']}"))
    head = ("set", "queries for things that are not there", "queries for things that are")
    return (
        "How often hybrid search answers that nothing is close enough, which is right in the first column and wrong in "
        f"the second.\n\n{table(head, rows)}"
    )


def _kinds(sets: Mapping[str, Any]) -> str:
    rows = []
    for name, system in _default_systems(sets):
        for kind in system["modes"]["vector"]["ndcg_by_kind"]:
            modes = [system["modes"].get(mode) for mode in MODES]
            rows.append((name, kind, *("" if one is None else three(one["ndcg_by_kind"][kind]) for one in modes)))
    return f"nDCG@10 with the defaults.\n\n{table(('set', 'kind', *MODES), rows)}"


def _choices(sets: Mapping[str, Any], part: str) -> str:
    """One table: a line for each system, the modes of each set beside each other."""
    names: dict[str, None] = {}
    for one in sets.values():
        names.update(dict.fromkeys(n for n, system in one["systems"].items() if system["part"] in ("defaults", part)))
    rows = []
    for name in names:
        found = [one["systems"].get(name) for one in sets.values()]
        cells = [_in_modes(system) for system in found]
        chosen = {system["chosen"] for system in found if system is not None and system["part"] == "defaults"}
        rows.append((f"{name} ({', '.join(sorted(chosen))})" if chosen else name, *cells))
    return f"nDCG@10, {' / '.join(MODES)}.\n\n{table(('', *sets), rows)}"


def _in_modes(system: Figures | None) -> str:
    if system is None:
        return "–"
    found = [system["modes"].get(mode) for mode in MODES]
    return " / ".join("–" if one is None else three(one["ndcg"]) for one in found)


def _default_systems(sets: Mapping[str, Any]) -> list[tuple[str, Figures]]:
    return [(name, system) for name, one in sets.items() for n, system in one["systems"].items() if n == "defaults"]


def _features(system: Figures) -> str:
    return f"`{system['image']}` and `{system['text']}`, {system['method']} chose `{system['chosen']}`"


def shown_gain(gain: Figures) -> str:
    """The paired difference with its interval, in bold if the interval is above zero."""
    low, high = gain["difference_ci95"]
    text = f"{gain['difference']:+.3f} ({low:+.3f} to {high:+.3f}) over {gain['over']}"
    return f"**{text}**" if low > 0 else text


def with_interval(value: float, interval: Sequence[float]) -> str:
    """A figure with its interval."""
    return f"{three(value)} ({three(interval[0])}–{three(interval[1])})"


def three(value: float) -> str:
    """Three digits without the leading zero.

    >>> three(0.7461), three(1.0)
    ('.746', '1.000')
    """
    text = f"{value:.3f}"
    return text.removeprefix("0") if text.startswith("0.") else text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are aligned to the right."""
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


if __name__ == "__main__":
    write_page()
