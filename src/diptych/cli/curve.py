"""`diptych curve`: how many labels per class does each method need?"""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from diptych.cli.compare import with_settings
from diptych.cli.curve_table import print_curve
from diptych.cli.display import display_for
from diptych.cli.literals import split_method_settings, split_names, split_seeds
from diptych.cli.options import (
    AsJson,
    DatasetFolder,
    Modalities,
    ProfileOption,
    SelectAt,
    SplitOption,
    UnlabelledOption,
    UsePairs,
    changed_protocol,
)
from diptych.cli.tables import output_console
from diptych.data import Dataset, Protocol
from diptych.errors import ConfigError
from diptych.experiments import Recipe, label_curve


def curve(
    dataset: DatasetFolder,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The curve's folder; run again to go on.")],
    methods: Annotated[str, typer.Option("--methods", help="all, or names with commas.")] = "all",
    labels_per_class: Annotated[
        str, typer.Option("--labels-per-class", metavar="1,5,all", help="The label counts, with commas.")
    ] = "1,2,5,10,20,50,all",
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="0,1,2", help="The seeds, with commas; each draws its own labels.")
    ] = "0,1,2",
    split: SplitOption = "test",
    unlabelled: UnlabelledOption = None,
    use_pairs: UsePairs = None,
    select_at: SelectAt = None,
    modalities: Modalities = None,
    profile: ProfileOption = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="METHOD.NAME=VALUE", help="Set a parameter; once for each.")
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Run every method again, even finished ones; stages still come from the cache."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Score methods with more and more training labels; a killed curve goes on where it stopped."""
    recipe = Recipe(
        methods=() if methods.strip() == "all" else _named("--methods", methods),
        seeds=split_seeds(seeds),
        split=split,
        modalities=None if modalities is None else _named("--modalities", modalities),
        profile=profile,
        protocol=changed_protocol(Protocol(), unlabelled, None, None, select_at, use_pairs),
    )
    chosen = with_settings(recipe, split_method_settings(settings or []))
    _run(Dataset.open(dataset), chosen, out, split_names(labels_per_class), fresh=fresh, as_json=as_json)


def _run(
    dataset: Dataset, recipe: Recipe, out: Path, counts: tuple[str, ...], *, fresh: bool = False, as_json: bool = False
) -> None:
    """Make the curve with a display, print it and say by the exit status whether a method failed."""
    messages = Console(stderr=True)
    try:
        with display_for(messages) as display:
            results = label_curve(dataset, recipe, out, counts, fresh=fresh, watcher=display)
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        print_curve(results, output_console())
    messages.print(f"curve: {escape(str(out / 'curve.svg'))}", soft_wrap=True, highlight=False)
    if results["failures"]:
        names = ", ".join(dict.fromkeys(failure["method"] for failure in results["failures"]))
        messages.print(f"[red]failed: {escape(names)}; the same command tries again.[/red]", soft_wrap=True)
        raise typer.Exit(1)


def _named(option: str, text: str) -> tuple[str, ...]:
    names = split_names(text)
    if not names:
        raise ConfigError(f"{option} is empty; give names with commas.")
    return names
