"""`diptych compare`: many methods on one dataset, and the report of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from diptych.cli.display import display_for
from diptych.cli.literals import split_method_settings, split_names, split_seeds
from diptych.cli.options import (
    AsJson,
    DatasetFolder,
    LabelShare,
    LabelsPerClass,
    Modalities,
    ProfileOption,
    SelectAt,
    Split,
    UnlabelledOption,
    UsePairs,
    changed_protocol,
)
from diptych.cli.results_table import print_results
from diptych.cli.tables import output_console
from diptych.data import Dataset
from diptych.errors import ConfigError
from diptych.experiments import Recipe, compare_methods, load_recipe


def compare(
    dataset: DatasetFolder,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="REPORT", help="The report's folder; run again to go on.")
    ],
    methods: Annotated[str | None, typer.Option("--methods", help="all, or names with commas.")] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", metavar="0,1,2", help="The seeds, with commas.")] = None,
    split: Annotated[Split | None, typer.Option("--split", help="The items to score; test by default.")] = None,
    unlabelled: UnlabelledOption = None,
    labels_per_class: LabelsPerClass = None,
    label_share: LabelShare = None,
    select_at: SelectAt = None,
    use_pairs: UsePairs = None,
    modalities: Modalities = None,
    profile: ProfileOption = None,
    recipe: Annotated[Path | None, typer.Option("--recipe", metavar="FILE.toml", help="Start from a recipe.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="METHOD.NAME=VALUE", help="Set a parameter; once for each.")
    ] = None,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Run every method again, even finished ones; stages still come from the cache."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit and score many methods on one dataset; a killed comparison goes on where it stopped."""
    base = load_recipe(recipe) if recipe is not None else Recipe()
    changes: dict[str, Any] = {
        "protocol": changed_protocol(base.protocol, unlabelled, labels_per_class, label_share, select_at, use_pairs)
    }
    if methods is not None:
        changes["methods"] = _named("--methods", methods)
    if seeds is not None:
        changes["seeds"] = split_seeds(seeds)
    if split is not None:
        changes["split"] = split
    if profile is not None:
        changes["profile"] = profile
    if modalities is not None:
        changes["modalities"] = _named("--modalities", modalities)
    chosen = with_settings(replace(base, **changes), split_method_settings(settings or []))
    run_comparison(Dataset.open(dataset), chosen, out, fresh=fresh, as_json=as_json)


def run_comparison(dataset: Dataset, recipe: Recipe, out: Path, *, fresh: bool = False, as_json: bool = False) -> None:
    """Compare with a display, print the table and say by the exit status whether a method failed."""
    messages = Console(stderr=True)
    try:
        with display_for(messages) as display:
            results = compare_methods(dataset, recipe, out, fresh=fresh, watcher=display)
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))
    else:
        print_results(results, output_console())
    messages.print(f"report: {escape(str(out / 'report.html'))}", soft_wrap=True, highlight=False)
    if results["failures"]:
        names = ", ".join(results["failures"])
        messages.print(f"[red]failed: {escape(names)}; the same command tries again.[/red]", soft_wrap=True)
        raise typer.Exit(1)


def with_settings(recipe: Recipe, settings: dict[str, dict[str, Any]]) -> Recipe:
    """A recipe with parameters on top; a parameter of a method that does not run is an error."""
    for method in settings:
        if method not in recipe.method_names:
            raise ConfigError(
                f"--set names '{method}', which does not run; the methods are {', '.join(recipe.method_names)}."
            )
    params = {name: {**recipe.params.get(name, {}), **settings.get(name, {})} for name in {**recipe.params, **settings}}
    return replace(recipe, params=params)


def _named(option: str, text: str) -> tuple[str, ...]:
    names = split_names(text)
    if not names:
        raise ConfigError(f"{option} is empty; give names with commas.")
    return () if option == "--methods" and names == ("all",) else names
