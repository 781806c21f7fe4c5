"""`diptych compare`: many methods on one dataset, and the report of it."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from diptych.cli.literals import split_method_settings, split_seeds
from diptych.cli.options import (
    AsJson,
    DatasetFolder,
    Fresh,
    LabelShare,
    LabelsPerClass,
    Modalities,
    ProfileOption,
    Propagate,
    SelectAt,
    Settings,
    Split,
    UnlabelledOption,
    UsePairs,
    WithholdValidation,
    changed_protocol,
)
from diptych.cli.results_table import print_results
from diptych.cli.watched import methods_named, named, run_watched
from diptych.data import Dataset
from diptych.experiments import Recipe, compare_methods, load_recipe
from diptych.experiments.recipe import with_params


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
    propagate: Propagate = None,
    withhold_validation: WithholdValidation = None,
    modalities: Modalities = None,
    profile: ProfileOption = None,
    recipe: Annotated[Path | None, typer.Option("--recipe", metavar="FILE.toml", help="Start from a recipe.")] = None,
    settings: Settings = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Fit and score many methods on one dataset; a killed comparison goes on where it stopped."""
    base = load_recipe(recipe) if recipe is not None else Recipe()
    protocol = changed_protocol(
        base.protocol, unlabelled, labels_per_class, label_share, select_at, use_pairs, propagate, withhold_validation
    )
    changes: dict[str, Any] = {"protocol": protocol}
    if methods is not None:
        changes["methods"] = methods_named(methods)
    if seeds is not None:
        changes["seeds"] = split_seeds(seeds)
    if split is not None:
        changes["split"] = split
    if profile is not None:
        changes["profile"] = profile
    if modalities is not None:
        changes["modalities"] = named("--modalities", modalities)
    chosen = with_params(replace(base, **changes), split_method_settings(settings or []))
    run_comparison(Dataset.open(dataset), chosen, out, fresh=fresh, as_json=as_json)


def run_comparison(dataset: Dataset, recipe: Recipe, out: Path, *, fresh: bool = False, as_json: bool = False) -> None:
    """Compare with a display, print the table and say by the exit status whether a method failed."""
    run_watched(
        lambda display: compare_methods(dataset, recipe, out, fresh=fresh, callbacks=display),
        print_results,
        kept=("report", out / "report.html"),
        failed=lambda results: results["failures"],
        as_json=as_json,
    )
