"""`diptych methods` and `diptych features`: list the methods and the feature extractors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.table import Table

from diptych._core.errors import DiptychError
from diptych.cli.console import output_console
from diptych.cli.options import AsJson

if TYPE_CHECKING:
    from diptych.methods.registry import Entry


def methods(as_json: AsJson = False) -> None:
    """List the methods: what each is, what it learns from, and whether it depends on a seed."""
    from diptych.methods import registry

    if as_json:
        typer.echo(json.dumps([describe(name) for name in registry.names()], indent=2, ensure_ascii=False))
        return
    rows = [_listed(name, known) for name, known in registry.entries().items()]
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


def _listed(name: str, known: Entry) -> dict[str, Any]:
    """What the table says of a method: read from its source where that spares importing torch."""
    from diptych.methods import registry

    declared = registry.declared(known)
    if declared is None:
        return describe(name)
    head = {"name": name, "summary": known.summary, "problem": registry.missing_package(name, known)}
    return head | _facts(declared)


def describe(name: str) -> dict[str, Any]:
    """Describe a method without fitting it."""
    from diptych.methods import registry

    head = {"name": name, "summary": registry.entry(name).summary}
    try:
        method = registry.method_class(name)
    except (DiptychError, ImportError) as error:
        return head | {"problem": str(error)}
    defaults = {**method.parameter_defaults(), **registry.entry(name).defaults}
    facts = _facts({fact: getattr(method, fact) for fact in _FACTS})
    return (
        head
        | facts
        | {
            "citation": method.citation,
            "params": {key: value if _is_plain(value) else str(value) for key, value in defaults.items()},
            "problem": None,
        }
    )


_FACTS = ("uses_pairs", "uses_labels", "uses_unlabelled", "stochastic", "max_modalities")


def _facts(known: Mapping[str, Any]) -> dict[str, Any]:
    uses = ["pairs"] * known["uses_pairs"] + ["labels"] * known["uses_labels"]
    uses += ["unlabelled features"] * known["uses_unlabelled"]
    return {
        "uses": " + ".join(uses) or "nothing",
        "stochastic": known["stochastic"],
        "max_modalities": known["max_modalities"],
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, str | bool | int | float | list | tuple | None)


def features(as_json: AsJson = False) -> None:
    """List the feature extractors of images and texts: name, dimension, and whether each is installed."""
    from diptych.features import DEFAULT_FEATURES, describe_features, media_types

    rows = [row for media_type in media_types() for row in describe_features(media_type)]
    if as_json:
        typer.echo(json.dumps({"default": DEFAULT_FEATURES, "features": rows}, indent=2, ensure_ascii=False))
        return
    for media_type in media_types():
        table = Table(title=f"{media_type} features (--{media_type}-features)", title_justify="left")
        for heading in ("feature", "columns", "what it is", "here"):
            table.add_column(heading, no_wrap=heading == "feature", justify="right" if heading == "columns" else "left")
        for row in rows:
            if row["media_type"] == media_type:
                table.add_row(*_cells(row))
        output_console().print(table)
    typer.echo("Join features with a plus (bow:3000+minilm); settings follow a comma (bow:3000,max_df=0.5).")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    columns = "varies" if row["dimension"] is None else f"{row['dimension']:,}"
    here = "default" if row["default"] else "ready" if row["installed"] else f"{row['needs']}"
    if row["default"] and not row["installed"]:
        here = f"default, but first: {row['needs']}"
    style = "" if row["installed"] else "yellow"
    return escape(row["written"]), columns, escape(row["summary"]), f"[{style}]{escape(here)}[/]" if style else here
