"""A curve as tables that fit the terminal."""

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.cli.results_table import interval

_MOST_DIRECTIONS = 2  # beyond that only the average fits a terminal; curve.md has the rest
_METHOD_WIDTH, _CELL_WIDTH = 20, 15


def print_curve(results: Mapping[str, Any], console: Console) -> None:
    """Print a table for the average and each direction: a row a method, a column a label count."""
    directions = [name for name in results["chance"] if "->" in name]
    wide = console.width >= _METHOD_WIDTH + _CELL_WIDTH * len(results["labels_per_class"])
    heading = f"{results['dataset']['name']}, split {results['split']}: MAP by labels per class"
    console.print(heading, style="bold", highlight=False, markup=False)
    for column in [*(directions if len(directions) <= _MOST_DIRECTIONS else []), "average"]:
        console.print(_table(results, column, wide=wide))
    words = (
        "MAP ± its deviation over seeds, and the 95% interval over queries" if wide else "MAP ± deviation over seeds"
    )
    console.print(f"{words}; training saw: {results['protocol']['words']}", highlight=False, markup=False)
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
