"""`diptych fit`: fit one method on a dataset and save the model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from diptych._core.progress import show_seconds
from diptych.cli.console import say
from diptych.cli.options import (
    DatasetFolder,
    LabelShare,
    LabelsPerClass,
    Modalities,
    ProfileOption,
    Propagate,
    Seed,
    SelectAt,
    UnlabelledOption,
    UsePairs,
    WithholdValidation,
    changed_protocol,
    split_names,
    split_settings,
)

if TYPE_CHECKING:
    from diptych.experiments import Recipe
    from diptych.methods import Method


_NOTHING_KEPT = "nothing is kept; the same command starts again."


def fit(
    dataset: DatasetFolder,
    method: Annotated[str, typer.Option("--method", "-m", help="The method; see `diptych methods`.")] = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="MODEL", help="Folder of the model; models/NAME by default.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter; repeatable.")
    ] = None,
    seed: Seed = 0,
    unlabelled: UnlabelledOption = None,
    labels_per_class: LabelsPerClass = None,
    label_share: LabelShare = None,
    select_at: SelectAt = None,
    use_pairs: UsePairs = None,
    propagate: Propagate = None,
    withhold_validation: WithholdValidation = None,
    modalities: Modalities = None,
    profile: ProfileOption = None,
    devices: Annotated[
        int, typer.Option("--devices", metavar="N", help="Train with N processes: on N GPUs, or all on the CPU.")
    ] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model.")] = False,
) -> None:
    """Fit one method and save the model; by default a method that suits the data, within a minute.

    Where only some training pairs have a label, labels are propagated unless --no-propagate is given. Ctrl-C stops the
    fit; finished stages of a network's training are kept, and the same command continues from there.
    """
    from diptych._core.files import refuse_existing
    from diptych.data import Dataset, Protocol
    from diptych.experiments import Recipe
    from diptych.methods import method_class
    from diptych.methods.parallel import check_parallel, is_worker, launch_workers
    from diptych.methods.training_inputs import lacks_labels

    params = split_settings(settings or [])
    known = method_class(method).parameter_defaults()
    if propagate is False and "propagate" in known:
        params.setdefault("propagate", False)
    opened = Dataset.open(dataset)
    out = out or Path("models") / opened.name
    protocol = changed_protocol(
        Protocol(), unlabelled, labels_per_class, label_share, select_at, use_pairs, propagate, withhold_validation
    )
    if propagate is None and lacks_labels(opened, protocol):
        protocol = replace(protocol, propagate=True)
    check_parallel(method, devices, str(params.get("device", "auto")))
    recipe = Recipe(
        methods=(method,),
        seeds=(seed,),
        modalities=split_names(modalities) if modalities else None,
        profile=profile,
        protocol=protocol,
        params={method: params},
    )
    if is_worker(devices):
        _fit(dataset, recipe, out, devices, overwrite)
        return
    refuse_existing(out, overwrite=overwrite, only=("model.json", "a model"))
    try:
        if devices > 1:
            launch_workers(sys.argv[1:], devices)
        else:
            _fit(dataset, recipe, out, devices, overwrite)
    except KeyboardInterrupt:
        keeps = params.get("cache", known.get("cache")) is not None
        rest = "what was trained so far is kept; run the same command to continue." if keeps else _NOTHING_KEPT
        say(Console(stderr=True), f"stopped; {rest}")
        raise typer.Exit(130) from None


def _fit(dataset: Path, recipe: Recipe, out: Path, devices: int, overwrite: bool) -> None:
    from diptych.cli.experiment_runner import display_for
    from diptych.data import Dataset
    from diptych.experiments import fit_one
    from diptych.methods.model_folder import save_model
    from diptych.methods.parallel import working

    messages = Console(stderr=True)
    with working(devices) as reports:
        if not reports:
            fit_one(Dataset.open(dataset), recipe)
            return
        with display_for(messages) as display:
            fitted = fit_one(Dataset.open(dataset), recipe, display)
        if devices > 1:
            fitted.record_["devices"] = devices
        save_model(fitted, out, overwrite=overwrite)
    _report(messages, fitted, out)


def _report(messages: Console, fitted: Method, out: Path) -> None:
    """Print what was fitted, why, how long it took and where it is."""
    record, kept = fitted.record_, fitted.saved_as
    if "auto" in record:
        say(messages, f"auto chose {record['auto']['why']}.")
    elif "selection_note" in record:
        note = record["selection_note"]
        say(messages, f"{note[0].upper()}{note[1:]}.")
    chosen = f", chosen on validation: {record.get('chosen')}" if record["selection"] and "auto" not in record else ""
    say(messages, f"{kept.registry_name} fitted in {show_fit_seconds(record)}{chosen}; model: {out}")


def show_fit_seconds(record: Mapping[str, Any]) -> str:
    """Write how long a fit took just now, and what the cache saved."""
    reused = float(record.get("reused_seconds", 0.0))
    took = show_seconds(record["fit_seconds"] - reused)
    return f"{took} (what once took {show_seconds(reused)} came from the cache)" if reused else took
