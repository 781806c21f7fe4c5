"""A comparison's results as a table that fits the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych._core.progress import show_seconds
from diptych.experiments.relevance import space_notes

_WIDE = 152
_MOST_DIRECTIONS = 2  # beyond that only averages fit a terminal; the report has the rest


def print_results(results: Mapping[str, Any], console: Console) -> None:
    """Print every method with its scores, intervals, spread, time and what it saw; failed ones in red."""
    directions = [name for name in results["chance"] if "->" in name]
    columns = [*(directions if len(directions) <= _MOST_DIRECTIONS else []), "average"]
    layout = _wide if console.width >= _WIDE else _narrow
    console.print(layout(results, columns))


def _frame(results: Mapping[str, Any], style: box.Box) -> Table:
    words = "\n".join([f"training saw: {results['protocol']['words']}", *space_notes(results)])
    return Table(
        title=escape(f"{results['dataset']['name']}, split {results['split']}"),
        caption=escape(words),
        box=style,
    )


def _wide(results: Mapping[str, Any], columns: Sequence[str]) -> Table:
    """Everything in columns of its own."""
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
        cells = [cell for column in columns for cell in (with_interval(block[column]), _score(block[column], "map@50"))]
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
    """Two lines a method: MAP, MAP@50 and MRR above, the MAP's interval and spread and what the method saw below."""
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


def with_interval(scores: Mapping[str, Any]) -> str:
    """A MAP and its 95% interval."""
    return f"{_score(scores, 'map')} ({interval(scores)})"


def interval(scores: Mapping[str, Any]) -> str:
    """The 95% interval of a MAP."""
    low, high = scores["map_ci95"]
    return f"{low:.3f}–{high:.3f}"


def _both(scores: Mapping[str, Any]) -> str:
    return f"{_score(scores, 'map')} {_score(scores, 'map@50')}"


def _score(scores: Mapping[str, Any], measure: str) -> str:
    return f"{scores[measure]:.3f}"


def _levels(results: Mapping[str, Any], columns: Sequence[str]) -> list[Mapping[str, Any]]:
    chance: Mapping[str, Any] = results["chance"]
    return [chance if column == "average" else chance[column] for column in columns]


def _partner(block: Mapping[str, Any]) -> str:
    """The mean reciprocal rank of an item's own partner, averaged over the directions."""
    average = block["instance"].get("average")
    return f"{average['mean_reciprocal_rank']:.3f}" if average else "–"


def _partner_level(results: Mapping[str, Any]) -> str:
    level = results["chance"]["mrr"]
    return "–" if level is None else f"{level:.3f}"


def _spread(block: Mapping[str, Any]) -> str:
    spread = block["average"]["map_std_over_seeds"]
    return "–" if spread is None or block["deterministic"] else f"{spread:.3f}"


def _emphasis(results: Mapping[str, Any], name: str) -> str:
    return "bold" if name == results["comparisons"]["best"] else ""
