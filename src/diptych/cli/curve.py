"""`diptych curve`: how many labels per class does each method need?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from diptych.cli.curve_table import print_curve
from diptych.cli.literals import split_method_settings, split_names, split_seeds
from diptych.cli.options import (
    AsJson,
    DatasetFolder,
    Fresh,
    Modalities,
    ProfileOption,
    Propagate,
    SelectAt,
    Settings,
    SplitOption,
    UnlabelledOption,
    UsePairs,
    WithholdValidation,
    changed_protocol,
)
from diptych.cli.watched import methods_named, named, run_watched
from diptych.data import Dataset, Protocol
from diptych.experiments import Callbacks, Recipe, label_curve
from diptych.experiments.recipe import with_params


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
    propagate: Propagate = None,
    compare_propagation: Annotated[
        bool,
        typer.Option("--compare-propagation", help="Draw every method that reads labels with and without --propagate."),
    ] = False,
    withhold_validation: WithholdValidation = None,
    select_at: SelectAt = None,
    modalities: Modalities = None,
    profile: ProfileOption = None,
    settings: Settings = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Score methods with more and more training labels; a killed curve goes on where it stopped."""
    recipe = Recipe(
        methods=methods_named(methods),
        seeds=split_seeds(seeds),
        split=split,
        modalities=None if modalities is None else named("--modalities", modalities),
        profile=profile,
        protocol=changed_protocol(
            Protocol(), unlabelled, None, None, select_at, use_pairs, propagate, withhold_validation
        ),
    )
    chosen = with_params(recipe, split_method_settings(settings or []))
    counts, opened = split_names(labels_per_class), Dataset.open(dataset)

    def run(display: Callbacks) -> dict[str, Any]:
        return label_curve(
            opened, chosen, out, counts, compare_propagation=compare_propagation, fresh=fresh, callbacks=display
        )

    run_watched(
        run,
        print_curve,
        kept=("curve", out / "curve.svg"),
        failed=lambda results: (failure["method"] for failure in results["failures"]),
        as_json=as_json,
    )
