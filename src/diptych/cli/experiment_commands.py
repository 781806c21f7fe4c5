"""`diptych compare`, `curve` and `reproduce`: run many methods and report their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.cli.options import (
    PROFILES,
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
    SplitOption,
    UnlabelledOption,
    UsePairs,
    WithholdValidation,
    changed_protocol,
    method_names,
    option_names,
    split_method_settings,
    split_names,
    split_seeds,
)
from diptych.cli.score_tables import print_curve, print_results

if TYPE_CHECKING:
    from diptych.data import Dataset
    from diptych.experiments import Callbacks, Recipe

STUDIES = ("wikipedia", "nuswide10k", "rsicd")
_SEEDS, _PROFILE = "0,1,2,3,4", "standard"


def compare(
    dataset: DatasetFolder,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="REPORT", help="Folder of the report; run again to continue.")
    ],
    methods: Annotated[str | None, typer.Option("--methods", help="all, or names separated by commas.")] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", metavar="0,1,2", help="Seeds, separated by commas.")] = None,
    split: Annotated[Split | None, typer.Option("--split", help="The split to score; test by default.")] = None,
    unlabelled: UnlabelledOption = None,
    labels_per_class: LabelsPerClass = None,
    label_share: LabelShare = None,
    select_at: SelectAt = None,
    use_pairs: UsePairs = None,
    propagate: Propagate = None,
    withhold_validation: WithholdValidation = None,
    modalities: Modalities = None,
    profile: ProfileOption = None,
    recipe: Annotated[
        Path | None, typer.Option("--recipe", metavar="FILE.toml", help="Start from a recipe file.")
    ] = None,
    settings: Settings = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Fit and score many methods on one dataset; run again to continue where it stopped."""
    from diptych.data import Dataset
    from diptych.experiments import Recipe, load_recipe
    from diptych.experiments.recipe import with_params

    base = load_recipe(recipe) if recipe is not None else Recipe()
    protocol = changed_protocol(
        base.protocol, unlabelled, labels_per_class, label_share, select_at, use_pairs, propagate, withhold_validation
    )
    changes: dict[str, Any] = {"protocol": protocol}
    if methods is not None:
        changes["methods"] = method_names(methods)
    if seeds is not None:
        changes["seeds"] = split_seeds(seeds)
    if split is not None:
        changes["split"] = split
    if profile is not None:
        changes["profile"] = profile
    if modalities is not None:
        changes["modalities"] = option_names("--modalities", modalities)
    chosen = with_params(replace(base, **changes), split_method_settings(settings or []))
    run_comparison(Dataset.open(dataset), chosen, out, fresh=fresh, as_json=as_json)


def run_comparison(dataset: Dataset, recipe: Recipe, out: Path, *, fresh: bool = False, as_json: bool = False) -> None:
    """Compare with a display and print the table; the exit status says whether a method failed."""
    from diptych.cli.experiment_runner import run_experiment
    from diptych.experiments import compare_methods

    run_experiment(
        lambda display: compare_methods(dataset, recipe, out, fresh=fresh, callbacks=display),
        print_results,
        kept=("report", out / "report.html"),
        failed=lambda results: results["failures"],
        as_json=as_json,
    )


def curve(
    dataset: DatasetFolder,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the curve; run again to continue.")
    ],
    methods: Annotated[str, typer.Option("--methods", help="all, or names separated by commas.")] = "all",
    labels_per_class: Annotated[
        str, typer.Option("--labels-per-class", metavar="1,5,all", help="Labels per class, separated by commas.")
    ] = "1,2,5,10,20,50,all",
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="0,1,2", help="Seeds, separated by commas; each draws its own labels.")
    ] = "0,1,2",
    split: SplitOption = "test",
    unlabelled: UnlabelledOption = None,
    use_pairs: UsePairs = None,
    propagate: Propagate = None,
    compare_propagation: Annotated[
        bool,
        typer.Option("--compare-propagation", help="Run every method that uses labels with and without --propagate."),
    ] = False,
    withhold_validation: WithholdValidation = None,
    select_at: SelectAt = None,
    modalities: Modalities = None,
    profile: ProfileOption = None,
    settings: Settings = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
) -> None:
    """Score methods with increasing numbers of training labels; run again to continue where it stopped."""
    from diptych.cli.experiment_runner import run_experiment
    from diptych.data import Dataset, Protocol
    from diptych.experiments import Recipe, label_curve
    from diptych.experiments.recipe import with_params

    recipe = Recipe(
        methods=method_names(methods),
        seeds=split_seeds(seeds),
        split=split,
        modalities=None if modalities is None else option_names("--modalities", modalities),
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

    run_experiment(
        run,
        print_curve,
        kept=("curve", out / "curve.svg"),
        failed=lambda results: (failure["method"] for failure in results["failures"]),
        as_json=as_json,
    )


def reproduce(
    study: Annotated[str, typer.Argument(metavar="|".join(STUDIES), help="The dataset of the published comparison.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="REPORT", help="Folder of the page; run again to continue.")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", metavar="FOLDER", help="The released files, or a dataset (for rsicd one under each part's name)."
        ),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option("--raw", metavar="FOLDER", help="Released images and texts, to extract features as in the paper."),
    ] = None,
    seeds: Annotated[str, typer.Option("--seeds", metavar="0,1,2", help="Seeds, separated by commas.")] = _SEEDS,
    profile: Annotated[
        str, typer.Option("--profile", metavar="|".join(PROFILES), help="Width and training time of deep methods.")
    ] = _PROFILE,
    methods: Annotated[
        str | None, typer.Option("--methods", help="Names separated by commas; those of the paper by default.")
    ] = None,
    settings: Settings = None,
    note: Annotated[
        str,
        typer.Option("--note", metavar="SENTENCE", help="A sentence for the page, such as where parameters come from."),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Rerun the comparison of the CDMLMR paper under two protocols and judge its claims."""
    from diptych.cli.experiment_runner import run_experiment
    from diptych.experiments.reproduce import reproduce_study

    names = None if methods is None else method_names(methods) or None
    run_experiment(
        lambda display: reproduce_study(
            study,
            out,
            data=data,
            raw=raw,
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
    """Print the verdict on every claim under each protocol, on plain cosine."""
    from diptych.experiments.reproduce import parts_of

    for part in parts_of(content):
        protocols = list(part["protocols"])
        table = Table("claim", *protocols, title=escape(f"{part['title']}: the claims of the paper"))
        for claim in part["claims"]:
            verdicts = claim["verdicts"]
            cells = [verdicts.get(name) or next(iter(verdicts.values())) for name in protocols]
            table.add_row(escape(claim["claim"]), *(escape(cell["plain"]["words"]) for cell in cells))
        console.print(table)


def _failed(content: Mapping[str, Any]) -> list[str]:
    from diptych.experiments.reproduce import parts_of

    protocols = [protocol for part in parts_of(content) for protocol in part["protocols"].values()]
    return sorted({name for protocol in protocols for name in protocol["missing"]})
