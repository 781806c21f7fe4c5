"""Render a comparison's results: `report.html`, one file that needs nothing else, and a table as Markdown."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from diptych._core.progress import show_seconds
from diptych._core.rendering import escape, table, with_interval
from diptych.experiments.charts import MARKED, BarChart, LineChart, bar_chart, line_chart, monitored_charts
from diptych.experiments.relevance import MOST_DIRECTIONS, columns_of_scores, directions_of, space_notes

_ALPHA = 0.05
_LEADERS = 5


def render_report(results: Mapping[str, Any]) -> str:
    """Write the report of a result, complete or partial, as HTML."""
    directions = directions_of(results)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            results=results,
            methods=results["methods"],
            directions=directions,
            columns=columns_of_scores(results),
            partner_columns=directions if len(directions) <= MOST_DIRECTIONS else ["average"],
            best=_best(results, [*directions, "average"]),
            leaders=_leaders(results),
            best_partner=next(iter(_ranking(results, "mean_reciprocal_rank")), None),
            space_notes=space_notes(results),
            verdicts={name: _verdict(results, name) for name in results["methods"]},
            bars=_bars(results, directions),
            curves=_curves(results, directions),
            classes=_class_tables(results, directions),
            monitored=_monitored(results),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("diptych.experiments"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "score": lambda value: "–" if value is None else f"{value:.3f}",
        "interval": lambda ends: f"{ends[0]:.3f}–{ends[1]:.3f}",
        "arrow": _arrow,
        "seconds": show_seconds,
        "pretty": lambda value: json.dumps(value, ensure_ascii=False),
    }
    return environment


def show_p(p: float) -> str:
    """Write a p-value.

    >>> show_p(0.0002), show_p(0.0412)
    ('p < 0.001', 'p = 0.041')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _best(results: Mapping[str, Any], columns: list[str]) -> dict[tuple[str, str], str]:
    """The best method of every column and measure."""
    methods = results["methods"]
    return {
        (column, measure): max(methods, key=lambda name: methods[name][column][measure])
        for column in columns
        for measure in ("map", "map@50")
        if methods
    }


def _ranking(results: Mapping[str, Any], measure: str) -> dict[str, Mapping[str, Any]]:
    """Each method's averages over directions, the best by a measure first; those that lack it are left out."""
    averages = {
        name: block["average"] if measure == "map" else block["instance"].get("average")
        for name, block in results["methods"].items()
    }
    known = {name: average for name, average in averages.items() if average}
    return {name: known[name] for name in sorted(known, key=lambda name: -known[name][measure])}


def _leaders(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The best methods by class and by partner, side by side: neither measure alone names a winner."""
    found = []
    for title, measure, short, level in (
        ("Finding items of the same class", "map", "MAP", results["chance"]["map"]),
        ("Finding an item's own partner", "mean_reciprocal_rank", "MRR", results["chance"]["mrr"]),
    ):
        ranking = _ranking(results, measure)
        if ranking:
            about = {"title": title, "measure": measure, "short": short, "chance": level, "count": len(ranking)}
            found.append(about | {"averages": dict(list(ranking.items())[:_LEADERS])})
    return found


def _verdict(results: Mapping[str, Any], name: str) -> dict[str, str]:
    """How a method stands against the best: the difference, and whether it may be luck."""
    if name == results["comparisons"]["best"]:
        return {"text": "best", "detail": "highest average MAP"}
    found = results["comparisons"]["against_best"][name]
    low, high = found["difference_ci95"]
    p = found["p_holm"]
    same = "" if p < _ALPHA else "≈ "
    return {"text": f"{same}{found['difference']:+.3f}", "detail": f"{low:+.3f} to {high:+.3f}, {show_p(p)}"}


def _bars(results: Mapping[str, Any], directions: list[str]) -> list[BarChart]:
    methods, chance = results["methods"], results["chance"]
    if not methods:
        return []
    averages = {name: block["average"] for name, block in methods.items()}
    panels = [bar_chart("MAP by class, average", averages, chance["map"])]
    partners = _ranking(results, "mean_reciprocal_rank")
    if partners:
        panels.append(bar_chart("MRR of the own partner, average", partners, chance["mrr"], "mean_reciprocal_rank"))
    for each in directions:
        blocks = {name: block[each] for name, block in methods.items()}
        panels.append(bar_chart(f"MAP by class, {_arrow(each)}", blocks, chance[each]["map"]))
    return panels


def _curves(results: Mapping[str, Any], directions: list[str]) -> list[LineChart]:
    """One panel for each direction, all on the same axis and with the same methods in colour."""
    curves = {d: {name: block[d]["curve"] for name, block in results["methods"].items()} for d in directions}
    highest = max([max(curve["precision"]) for panel in curves.values() for curve in panel.values()], default=0.0)
    marked = _marked(results)
    return [line_chart(_arrow(d), panel, highest, marked) for d, panel in curves.items() if panel]


def _marked(results: Mapping[str, Any]) -> list[str]:
    """The methods in colour: all where there are few, else the best by class and the best by partner in turn."""
    by_class, by_partner = list(_ranking(results, "map")), list(_ranking(results, "mean_reciprocal_rank"))
    if len(by_class) <= MARKED:
        return by_class
    chosen = list(dict.fromkeys([*by_class[: MARKED - 2], *by_partner[:2], *by_class]))
    return chosen[:MARKED]


def _arrow(direction: str) -> str:
    return direction.replace("->", " → ")


def _monitored(results: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The panels of every method whose training was watched, with the seed they are of."""
    watched = {name: block["monitoring"] for name, block in results["methods"].items() if "monitoring" in block}
    panels = {name: {"seed": each["seed"], "charts": monitored_charts(each)} for name, each in watched.items()}
    return {name: each for name, each in panels.items() if each["charts"]}


def _class_tables(results: Mapping[str, Any], directions: list[str]) -> list[dict[str, Any]]:
    """The MAP of each class by method, with each value's share of the highest for the shade of its cell."""
    tables = []
    for direction in directions:
        values = {name: block[direction].get("per_class", {}) for name, block in results["methods"].items()}
        labels = list(dict.fromkeys(label for row in values.values() for label in row))
        highest = max([value for row in values.values() for value in row.values()], default=0.0) or 1.0
        if labels:
            tables.append({"direction": direction, "labels": labels, "values": values, "highest": highest})
    return tables


def render_markdown(results: Mapping[str, Any]) -> str:
    """One row a method: MAP with its interval per direction and on average, MAP@50, MRR, z-scored MAP.

    Of more than two directions the first table has the averages, and two more the MAP and the MRR of each.
    """
    columns = columns_of_scores(results)
    heads = [f"{name.replace('->', ' → ')} MAP (95 %)" for name in columns]
    lines = [
        f"# {escape(results['dataset']['name'])}, split {results['split']}",
        "",
        f"Dataset `{results['dataset']['fingerprint']}`. Training saw: {results['protocol']['words']}. "
        f"Chance level: MAP {results['chance']['map']:.3f}, MAP@50 {results['chance']['map@50']:.3f}, MRR "
        f"{_score(results['chance']['mrr'])}. MRR is the mean reciprocal rank of an item's own partner.",
        "",
    ]
    heads += ["average MAP@50", "± seeds", "average MRR (95 %)", "average MAP, z-scored embeddings"]
    rows = []
    for name, block in results["methods"].items():
        cells = [with_interval(block[c]["map"], block[c]["map_ci95"]) for c in columns]
        spread = block["average"]["map_std_over_seeds"]
        cells += [
            f"{block['average']['map@50']:.3f}",
            "–" if spread is None or block["deterministic"] else f"{spread:.3f}",
            _partner(block["instance"].get("average")),
            f"{block['znorm']['average']['map']:.3f}",
        ]
        rows.append([f"`{escape(name)}`", *cells, block["saw"]])
    lines += table(["method", *heads, "saw"], rows, numbers=heads)
    lines += [f"\n{escape(note)}." for note in space_notes(results)]
    if len(columns) == 1:
        lines += ["", "## By direction", "", "MAP with its 95 % interval:", "", *_by_direction(results, "map")]
        lines += ["", "MRR of the own partner with its 95 % interval:", "", *_by_direction(results, "mrr")]
    lines += [f"\n`{escape(name)}` was left out: {escape(why)}." for name, why in results.get("left_out", {}).items()]
    lines += [f"\n`{escape(name)}` failed: {escape(reason)}" for name, reason in results["failures"].items()]
    return "\n".join(lines) + "\n"


def _by_direction(results: Mapping[str, Any], measure: str) -> list[str]:
    """A row per method, a column per direction, and the chance level of each."""
    directions, chance = directions_of(results), results["chance"]
    rows = []
    for name, block in results["methods"].items():
        if measure == "mrr":
            cells = [_partner(block["instance"].get(each)) for each in directions]
        else:
            cells = [with_interval(block[d]["map"], block[d]["map_ci95"]) for d in directions]
        rows.append([f"`{escape(name)}`", *cells])
    rows.append(["random ranking", *(_score(chance[each].get(measure)) for each in directions)])
    return table(["method", *map(_arrow, directions)], rows)


def _partner(average: Mapping[str, Any] | None) -> str:
    if average is None:
        return "–"
    return with_interval(average["mean_reciprocal_rank"], average["mean_reciprocal_rank_ci95"])


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
