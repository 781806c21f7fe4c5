"""A model's scores as a table, and the console that tables go to."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.cli.results_table import with_interval

_WIDTH_IN_FILES = 170
_HEADINGS = ("direction", "MAP (95%)", "@50", "chance", "z-scored MAP")
_PARTNER_HEADINGS = ("MRR (95%)", "chance", "R@1", "R@10", "median rank", "queries")


def output_console() -> Console:
    """A console for results; where nobody's terminal sets the width, tables get room enough."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH_IN_FILES)


def score_table(block: Mapping[str, Any], title: str) -> Table:
    """One model's scores, a row for each direction: by class on the left, by an item's own partner on the right."""
    table = Table(title=escape(title), caption=escape("; ".join(block["notes"])) or None)
    for heading in (*_HEADINGS, *_PARTNER_HEADINGS):
        table.add_column(heading, justify="left" if heading == "direction" else "right")
    for name in [*(name for name in block if "->" in name), "average"]:
        scores, partner = block[name], block["instance"].get(name, {})
        table.add_row(
            escape(name),
            with_interval(scores),
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
    low, high = partner["mean_reciprocal_rank_ci95"]
    return [
        f"{partner['mean_reciprocal_rank']:.3f} ({low:.3f}–{high:.3f})",
        f"{partner['chance']['mean_reciprocal_rank']:.3f}",
        *(f"{partner[key]:.3f}" for key in ("R@1", "R@10")),
        f"{partner['median_rank']:g}" if "median_rank" in partner else "",
    ]
