"""`diptych reproduce`: rerun a published comparison and say which of its claims hold."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.cli.literals import split_method_settings, split_seeds
from diptych.cli.options import AsJson, Settings
from diptych.cli.watched import methods_named, run_watched
from diptych.experiments.reproduce import PROFILE, SEEDS, STUDIES, parts_of, reproduce_study
from diptych.methods.registry import PROFILES


def reproduce(
    study: Annotated[str, typer.Argument(metavar="|".join(STUDIES), help="The dataset of the comparison.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="REPORT", help="The folder for the page; run again to go on.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="FOLDER", help="The released files, or a dataset (one under each part's name, for rsicd)."
        ),
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
    settings: Settings = None,
    note: Annotated[
        str, typer.Option("--note", metavar="SENTENCE", help="For the page, such as where given parameters are from.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Rerun the comparison of the CDMLMR paper under two protocols and judge its claims."""
    names = None if methods is None else methods_named(methods) or None
    run_watched(
        lambda display: reproduce_study(
            study,
            out,
            data=data,
            seeds=split_seeds(seeds),
            profile=profile,
            methods=names,
            params=split_method_settings(settings or []),
            note=note,
            callbacks=display,
        ),
        _print_verdicts,
        kept=("page", out / "reproduction.md"),
        failed=_failed,
        as_json=as_json,
    )


def _print_verdicts(content: Mapping[str, Any], console: Console) -> None:
    """Every claim and what became of it under each protocol, on plain cosine."""
    for part in parts_of(content):
        protocols = list(part["protocols"])
        table = Table("claim", *protocols, title=escape(f"{part['title']}: the claims of the paper"))
        for claim in part["claims"]:
            verdicts = claim["verdicts"]
            cells = [verdicts.get(name) or next(iter(verdicts.values())) for name in protocols]
            table.add_row(escape(claim["claim"]), *(escape(cell["plain"]["words"]) for cell in cells))
        console.print(table)


def _failed(content: Mapping[str, Any]) -> list[str]:
    protocols = [protocol for part in parts_of(content) for protocol in part["protocols"].values()]
    return sorted({name for protocol in protocols for name in protocol["missing"]})
