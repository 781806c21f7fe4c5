"""Results as tables for a terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.experiments import show_seconds

_WIDTH_IN_FILES = 150
_MOST_DIRECTIONS = 2  # beyond that only averages fit a terminal; the report has the rest


def output_console() -> Console:
    """A console for results; where nobody's terminal sets the width, tables get room enough."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_IN_FILES)


def results_table(results: Mapping[str, Any]) -> Table:
    """Every method with its scores, intervals, spread, time and what it saw; failed ones in red."""
    directions = [name for name in results["chance"] if "->" in name]
    columns = [*(directions if len(directions) <= _MOST_DIRECTIONS else []), "average"]
    table = Table(
        title=escape(f"{results['dataset']['name']}, split {results['split']}"),
        caption=escape(f"training saw: {results['protocol']['words']}"),
    )
    table.add_column("method", no_wrap=True)
    for column in columns:
        table.add_column(escape(f"{column}\nMAP (95%)"), justify="right", no_wrap=True)
        table.add_column("\n@50", justify="right", no_wrap=True)
    for name in ("± seeds", "fit"):
        table.add_column(f"\n{name}", justify="right", no_wrap=True)
    table.add_column("\nsaw", overflow="fold")
    best = results["comparisons"]["best"]
    for name, block in results["methods"].items():
        style = "bold" if name == best else ""
        table.add_row(escape(name), *_cells(block, columns), style=style)
    for name, reason in results["failures"].items():
        filler = [""] * (2 * len(columns) + 2)
        table.add_row(escape(name), "failed", *filler[1:], escape(reason), style="red")
    chance = results["chance"]
    levels = [chance if column == "average" else chance[column] for column in columns]
    table.add_section()
    numbers = [f"{level[measure]:.3f}" for level in levels for measure in ("map", "map@50")]
    table.add_row("random ranking", *numbers, "", "", "nothing", style="dim")
    return table


def score_table(block: Mapping[str, Any], title: str) -> Table:
    """One model's scores, a row for each direction."""
    table = Table(title=escape(title), caption=escape("; ".join(block["notes"])) or None)
    for name in ("direction", "MAP (95%)", "@50", "chance", "z-scored MAP", "R@1", "R@10", "median rank", "queries"):
        table.add_column(name, justify="left" if name == "direction" else "right", no_wrap=True)
    for name in [name for name in block if "->" in name] + ["average"]:
        scores, partner = block[name], block["instance"].get(name, {})
        table.add_row(
            escape(name),
            _with_interval(scores),
            f"{scores['map@50']:.3f}",
            f"{scores['chance']['map']:.3f}",
            f"{block['znorm'][name]['map']:.3f}",
            *(f"{partner[key]:.3f}" if partner else "" for key in ("R@1", "R@10")),
            f"{partner['median_rank']:g}" if partner else "",
            str(scores.get("queries", "")),
        )
    return table


def _cells(block: Mapping[str, Any], columns: list[str]) -> list[str]:
    cells = []
    for column in columns:
        cells += [_with_interval(block[column]), f"{block[column]['map@50']:.3f}"]
    spread = block["average"]["map_std_over_seeds"]
    return [
        *cells,
        "–" if spread is None or block["deterministic"] else f"{spread:.3f}",
        show_seconds(block["fit_seconds"]),
        escape(block["saw"]),
    ]


def _with_interval(scores: Mapping[str, Any]) -> str:
    low, high = scores["map_ci95"]
    return f"{scores['map']:.3f} ({low:.3f}–{high:.3f})"
