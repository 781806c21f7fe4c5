"""`diptych methods`: what there is to choose from."""

import json
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from diptych._core.errors import DiptychError
from diptych.cli.options import AsJson
from diptych.cli.tables import output_console
from diptych.methods import registry


def methods(as_json: AsJson = False) -> None:
    """List the methods: what each does, what it learns from, and whether it depends on a seed."""
    rows = [describe(name) for name in registry.names()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table()
    for heading in ("method", "what it is", "learns from", "seed", "modalities"):
        table.add_column(heading, no_wrap=heading == "method")
    for row in rows:
        if row["problem"]:
            table.add_row(escape(row["name"]), escape(row["summary"]), f"[red]{escape(row['problem'])}[/red]", "", "")
            continue
        count = "any number" if row["max_modalities"] is None else str(row["max_modalities"])
        cells = (row["name"], row["summary"], row["uses"], "yes" if row["stochastic"] else "no", count)
        table.add_row(*map(escape, cells))
    output_console().print(table)


def describe(name: str) -> dict[str, Any]:
    """All that is known of a method without fitting it."""
    head = {"name": name, "summary": registry.entry(name).summary}
    try:
        method = registry.method_class(name)
    except (DiptychError, ImportError) as error:
        return head | {"problem": str(error)}
    uses = ["pairs"] * method.uses_pairs + ["labels"] * method.uses_labels
    uses += ["unlabelled features"] * method.uses_unlabelled
    defaults = {**method.parameter_defaults(), **registry.entry(name).defaults}
    return head | {
        "uses": " + ".join(uses) or "nothing",
        "stochastic": method.stochastic,
        "max_modalities": method.max_modalities,
        "citation": method.citation,
        "params": {key: value if _is_plain(value) else str(value) for key, value in defaults.items()},
        "problem": None,
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, str | bool | int | float | list | tuple | None)
