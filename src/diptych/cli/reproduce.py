"""`diptych reproduce`: rerun a published comparison and say which of its claims hold."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.cli.display import display_for
from diptych.cli.literals import split_names, split_seeds
from diptych.cli.options import AsJson
from diptych.cli.tables import output_console
from diptych.errors import ConfigError
from diptych.experiments.reproduce import PROFILE, SEEDS, STUDIES, reproduce_study
from diptych.methods.profiles import PROFILES


def reproduce(
    study: Annotated[str, typer.Argument(metavar="|".join(STUDIES), help="The dataset of the comparison.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="REPORT", help="The folder for the page; run again to go on.")
    ],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="The released files, or a dataset's folder.")
    ] = None,
    seeds: Annotated[str, typer.Option("--seeds", metavar="0,1,2", help="The seeds, with commas.")] = ",".join(
        map(str, SEEDS)
    ),
    profile: Annotated[
        str, typer.Option("--profile", metavar="|".join(PROFILES), help="How wide and long deep methods train.")
    ] = PROFILE,
    methods: Annotated[
        str | None, typer.Option("--methods", help="Names with commas; the whole line-up by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Rerun the comparison of the CDMLMR paper under two protocols and judge its claims."""
    names = None if methods in (None, "all") else split_names(methods or "")
    if names == ():
        raise ConfigError("--methods is empty; give names with commas.")
    messages = Console(stderr=True)
    try:
        with display_for(messages) as display:
            content = reproduce_study(
                study, out, data=data, seeds=split_seeds(seeds), profile=profile, methods=names, watcher=display
            )
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        output_console().print(_verdict_table(content))
    messages.print(f"page: {escape(str(out / 'reproduction.md'))}", soft_wrap=True, highlight=False)
    failed = sorted({name for part in content["protocols"].values() for name in part["missing"]})
    if failed:
        messages.print(f"[red]failed: {escape(', '.join(failed))}; the same command tries again.[/red]", soft_wrap=True)
        raise typer.Exit(1)


def _verdict_table(content: Mapping[str, Any]) -> Table:
    """Every claim and what became of it under each protocol, on plain cosine."""
    protocols = list(content["protocols"])
    table = Table("claim", *protocols, title=escape(f"{content['title']}: the claims of the paper"))
    for claim in content["claims"]:
        verdicts = claim["verdicts"]
        cells = [verdicts.get(name) or next(iter(verdicts.values())) for name in protocols]
        table.add_row(escape(claim["claim"]), *(escape(cell["plain"]["words"]) for cell in cells))
    return table
