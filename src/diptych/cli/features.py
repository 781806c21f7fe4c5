"""`diptych features`: what images and texts can be read by."""

import json
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from diptych.cli.options import AsJson
from diptych.cli.tables import output_console
from diptych.features import DEFAULT_FEATURES, describe_features, media


def features(as_json: AsJson = False) -> None:
    """List the features of images and texts: how each is written, what it is, and whether it can be used here."""
    rows = [row for medium in media() for row in describe_features(medium)]
    if as_json:
        typer.echo(json.dumps({"default": DEFAULT_FEATURES, "features": rows}, indent=2, ensure_ascii=False))
        return
    for medium in media():
        table = Table(title=f"{medium} features (--{medium}-features)", title_justify="left")
        for heading in ("feature", "columns", "what it is", "here"):
            table.add_column(heading, no_wrap=heading == "feature", justify="right" if heading == "columns" else "left")
        for row in rows:
            if row["medium"] == medium:
                table.add_row(*_cells(row))
        output_console().print(table)
    typer.echo("Join features by a plus (bow:3000+minilm); settings follow a comma (bow:3000,max_df=0.5).")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    columns = "the encoder's" if row["dimension"] is None else f"{row['dimension']:,}"
    here = "default" if row["default"] else "ready" if row["installed"] else f"{row['needs']}"
    if row["default"] and not row["installed"]:
        here = f"default, but first: {row['needs']}"
    style = "" if row["installed"] else "yellow"
    return escape(row["written"]), columns, escape(row["summary"]), f"[{style}]{escape(here)}[/]" if style else here
