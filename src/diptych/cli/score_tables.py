"""Scores as terminal tables: of one model, of a comparison, of a label curve."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych._core.progress import show_seconds
from diptych._core.rendering import with_interval

_WIDE = 152
_DIRECTION_WIDTH = 14


def print_results(results: Mapping[str, Any], console: Console) -> None:
    """Print every method with its scores, intervals, spread, fit time and what it saw; failed ones in red.

    Of more than two directions the table has the averages, and another below it the MAP and the MRR of each.
    """
    from diptych.experiments.relevance import columns_of_scores

    columns = columns_of_scores(results)
    layout = _wide if console.width >= _WIDE else _narrow
    console.print(layout(results, columns))
    if len(columns) == 1 and results["methods"]:
        _print_directions(results, console)


def _print_directions(results: Mapping[str, Any], console: Console) -> None:
    """Print the MAP and the MRR of each direction: a row a method, as many directions side by side as there is room."""
    from diptych.experiments.relevance import directions_of

    directions = directions_of(results)
    most = max(1, (console.width - _METHOD_WIDTH) // _DIRECTION_WIDTH)
    at_once = -(-len(directions) // -(-len(directions) // most))  # the same number in every table
    for start in range(0, len(directions), at_once):
        some = directions[start : start + at_once]
        table = Table(title="by direction" if start == 0 else None, box=box.SIMPLE_HEAD)
        table.add_column("method", overflow="fold")
        for name in some:
            asking, _, searched = name.partition("->")
            table.add_column(escape(f"{asking} →\n{searched}\nMAP   MRR"), no_wrap=True)
        for name, block in results["methods"].items():
            cells = [f"{_score(block[each], 'map')} {_partner(block, each)}" for each in some]
            table.add_row(escape(name), *cells, style=_emphasis(results, name))
        table.add_section()
        levels = [results["chance"][each] for each in some]
        cells = [f"{_score(level, 'map')} {_level(level.get('mrr'))}" for level in levels]
        table.add_row("random ranking", *cells, style="dim")
        console.print(table)


def _frame(results: Mapping[str, Any], style: box.Box) -> Table:
    from diptych.experiments.relevance import space_notes

    caption = "\n".join([f"training saw: {results['protocol']['words']}", *space_notes(results)])
    return Table(
        title=escape(f"{results['dataset']['name']}, split {results['split']}"),
        caption=escape(caption),
        box=style,
    )


def _wide(results: Mapping[str, Any], columns: Sequence[str]) -> Table:
    """Make a table with a column for everything."""
    table = _frame(results, box.HEAVY_HEAD)
    table.add_column("method", no_wrap=True)
    for column in columns:
        table.add_column(escape(f"{column}\nMAP (95%)"), justify="right", no_wrap=True)
        table.add_column("\n@50", justify="right", no_wrap=True)
    table.add_column("\n± seeds", justify="right", no_wrap=True)
    table.add_column("partner\nMRR", justify="right", no_wrap=True)
    table.add_column("\nfit", justify="right", no_wrap=True)
    table.add_column("\nsaw", overflow="fold")
    for name, block in results["methods"].items():
        cells = [cell for column in columns for cell in (_map(block[column]), _score(block[column], "map@50"))]
        last = (_spread(block), _partner(block), show_seconds(block["fit_seconds"]), escape(block["saw"]))
        table.add_row(escape(name), *cells, *last, style=_emphasis(results, name))
    for name, reason in results["failures"].items():
        empty = [""] * (2 * len(columns) + 2)
        table.add_row(escape(name), "failed", *empty, escape(reason), style="red")
    table.add_section()
    levels = [_score(level, measure) for level in _levels(results, columns) for measure in ("map", "map@50")]
    table.add_row("random ranking", *levels, "", _partner_level(results), "", "nothing", style="dim")
    return table


def _narrow(results: Mapping[str, Any], columns: Sequence[str]) -> Table:
    """Make a table with two lines per method: scores above, the MAP's interval and spread and what it saw below."""
    table = _frame(results, box.SIMPLE_HEAD)
    table.add_column("method", overflow="fold")
    for column in columns:
        table.add_column(escape(f"{column}\nMAP   @50"), no_wrap=True)
    table.add_column("partner\nMRR", justify="right", no_wrap=True)
    table.add_column("fit\n± seeds", justify="right", no_wrap=True)
    for name, block in results["methods"].items():
        cells = [f"{_both(block[column])}\n[dim]{interval(block[column])}[/dim]" for column in columns]
        about = f"{escape(name)}\n[dim]{escape(block['saw'])}[/dim]"
        last = (_partner(block), f"{show_seconds(block['fit_seconds'])}\n[dim]{_spread(block)}[/dim]")
        table.add_row(about, *cells, *last, style=_emphasis(results, name))
    for name in results["failures"]:
        table.add_row(escape(name), "failed", style="red")
    table.add_section()
    levels = [_both(level) for level in _levels(results, columns)]
    table.add_row("random ranking", *levels, _partner_level(results), style="dim")
    return table


def _map(scores: Mapping[str, Any]) -> str:
    return with_interval(scores["map"], scores["map_ci95"])


def interval(scores: Mapping[str, Any]) -> str:
    """Write the 95% interval of a MAP."""
    low, high = scores["map_ci95"]
    return f"{low:.3f}–{high:.3f}"


def _both(scores: Mapping[str, Any]) -> str:
    return f"{_score(scores, 'map')} {_score(scores, 'map@50')}"


def _score(scores: Mapping[str, Any], measure: str) -> str:
    return f"{scores[measure]:.3f}"


def _levels(results: Mapping[str, Any], columns: Sequence[str]) -> list[Mapping[str, Any]]:
    chance: Mapping[str, Any] = results["chance"]
    return [chance if column == "average" else chance[column] for column in columns]


def _partner(block: Mapping[str, Any], column: str = "average") -> str:
    """The mean reciprocal rank of an item's own partner, averaged over the directions or in one."""
    found = block["instance"].get(column)
    return _level(found["mean_reciprocal_rank"] if found else None)


def _partner_level(results: Mapping[str, Any]) -> str:
    return _level(results["chance"]["mrr"])


def _level(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _spread(block: Mapping[str, Any]) -> str:
    spread = block["average"]["map_std_over_seeds"]
    return "–" if spread is None or block["deterministic"] else f"{spread:.3f}"


def _emphasis(results: Mapping[str, Any], name: str) -> str:
    return "bold" if name == results["comparisons"]["best"] else ""


_METHOD_WIDTH, _CELL_WIDTH = 20, 15


def print_curve(results: Mapping[str, Any], console: Console) -> None:
    """Print a table for the average and each direction: a row per method, a column per label count.

    Of more than two directions the average alone is printed; `curve.md` has a table of each.
    """
    from diptych.experiments.relevance import columns_of_scores

    wide = console.width >= _METHOD_WIDTH + _CELL_WIDTH * len(results["labels_per_class"])
    heading = f"{results['dataset']['name']}, split {results['split']}: MAP by labels per class"
    console.print(heading, style="bold", highlight=False, markup=False)
    for column in columns_of_scores(results):
        console.print(_table(results, column, wide=wide))
    caption = (
        "MAP ± its deviation over seeds, and the 95% interval over queries" if wide else "MAP ± deviation over seeds"
    )
    console.print(f"{caption}; training saw: {results['protocol']['words']}", highlight=False, markup=False)
    for failure in results["failures"]:
        counts = ", ".join(map(str, failure["labels_per_class"]))
        said = f"{failure['method']} failed at labels per class {counts}: {failure['reason']}"
        console.print(said, style="red", highlight=False, markup=False)


def _table(results: Mapping[str, Any], column: str, *, wide: bool) -> Table:
    counts = results["labels_per_class"]
    table = Table(title=escape(column), box=box.SIMPLE_HEAD)
    table.add_column("method", overflow="fold")
    for count in counts:
        table.add_column(str(count), justify="right", no_wrap=True)
    best = {count: _best(results, column, count) for count in counts}
    for name, block in results["methods"].items():
        points = {point["labels_per_class"]: point for point in block["points"]}
        cells = [_cell(points.get(count), column, wide=wide, bold=best[count] == name) for count in counts]
        table.add_row(escape(name), *cells)
    table.add_section()
    level = results["chance"] if column == "average" else results["chance"][column]
    table.add_row("random ranking", *[f"{level['map']:.3f}"] * len(counts), style="dim")
    return table


def _best(results: Mapping[str, Any], column: str, count: int | str) -> str | None:
    """The method with the highest MAP at a count."""
    scores = {
        name: point[column]["map"]
        for name, block in results["methods"].items()
        for point in block["points"]
        if point["labels_per_class"] == count
    }
    return max(scores, key=scores.__getitem__, default=None)


def _cell(point: Mapping[str, Any] | None, column: str, *, wide: bool, bold: bool) -> str:
    """A MAP and its spread on one line with the interval below, or below each other where there is little room."""
    if point is None:
        return "[red]–[/red]"
    scores = point[column]
    value = f"[bold]{scores['map']:.3f}[/bold]" if bold else f"{scores['map']:.3f}"
    spread = scores["map_std_over_seeds"]
    shown = "" if spread is None or point["deterministic"] else f"±{spread:.3f}"
    if wide:
        return f"{value} {shown:6}\n[dim]{interval(scores)}[/dim]"
    return f"{value}\n[dim]{shown}[/dim]"


_HEADINGS = ("direction", "MAP (95%)", "@50", "chance", "z-scored MAP")
_PARTNER_HEADINGS = ("MRR (95%)", "chance", "R@1", "R@10", "median rank", "queries")


def score_table(block: Mapping[str, Any], title: str) -> Table:
    """Make a table of one model's scores, a row per direction: by class, then by an item's own partner."""
    table = Table(title=escape(title), caption=escape("; ".join(block["notes"])) or None)
    for heading in (*_HEADINGS, *_PARTNER_HEADINGS):
        table.add_column(heading, justify="left" if heading == "direction" else "right")
    for name in [*(name for name in block if "->" in name), "average"]:
        scores, partner = block[name], block["instance"].get(name, {})
        table.add_row(
            escape(name),
            _map(scores),
            f"{scores['map@50']:.3f}",
            f"{scores['chance']['map']:.3f}",
            f"{block['znorm'][name]['map']:.3f}",
            *_partner_cells(partner),
            str(scores.get("queries", "")),
        )
    return table


def _partner_cells(partner: Mapping[str, Any]) -> list[str]:
    if not partner:
        return [""] * (len(_PARTNER_HEADINGS) - 1)
    return [
        with_interval(partner["mean_reciprocal_rank"], partner["mean_reciprocal_rank_ci95"]),
        f"{partner['chance']['mean_reciprocal_rank']:.3f}",
        *(f"{partner[key]:.3f}" for key in ("R@1", "R@10")),
        f"{partner['median_rank']:g}" if "median_rank" in partner else "",
    ]
