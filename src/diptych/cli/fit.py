"""`diptych fit`: fit one method on a dataset and save the model."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from diptych._core.errors import DataError
from diptych._core.progress import show_seconds
from diptych.cli.display import display_for
from diptych.cli.literals import split_names, split_settings
from diptych.cli.options import (
    DatasetFolder,
    LabelShare,
    LabelsPerClass,
    Modalities,
    ProfileOption,
    Propagate,
    SelectAt,
    UnlabelledOption,
    UsePairs,
    WithholdValidation,
    changed_protocol,
)
from diptych.cli.saying import say
from diptych.data import Dataset, Protocol
from diptych.experiments import Recipe, fit_one
from diptych.methods import Method, method_class
from diptych.methods.model_folder import save_model
from diptych.methods.parallel import check_parallel, is_worker, launch_workers, working
from diptych.methods.training_inputs import lacks_labels

_NOTHING_KEPT = "nothing is kept, and the same command starts anew."


def fit(
    dataset: DatasetFolder,
    method: Annotated[str, typer.Option("--method", "-m", help="The method; see `diptych methods`.")] = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="MODEL", help="The model's folder; models/NAME by default.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set a parameter; once for each.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides everything that is drawn.")] = 0,
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
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a model that is already there.")] = False,
) -> None:
    """Fit one method and save the model; by default the one that suits the data, within a minute.

    Where some training pairs have a label and others have none, labels are propagated unless --no-propagate is given.
    Ctrl-C stops it; what is finished of a network's training is kept, and the same command goes on from there.
    """
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
    _check_target(out, overwrite)
    try:
        if devices > 1:
            launch_workers(sys.argv[1:], devices)
        else:
            _fit(dataset, recipe, out, devices, overwrite)
    except KeyboardInterrupt:
        keeps = params.get("cache", known.get("cache")) is not None
        rest = "what was trained so far is kept, and the same command goes on from there." if keeps else _NOTHING_KEPT
        say(Console(stderr=True), f"stopped; {rest}")
        raise typer.Exit(130) from None


def _fit(dataset: Path, recipe: Recipe, out: Path, devices: int, overwrite: bool) -> None:
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
    """Say what was fitted, why, how long it took and where it is."""
    record, kept = fitted.record_, fitted.saved_as
    if "auto" in record:
        say(messages, f"auto chose {record['auto']['why']}.")
    elif "selection_note" in record:
        note = record["selection_note"]
        say(messages, f"{note[0].upper()}{note[1:]}.")
    chosen = f", chosen on validation: {record.get('chosen')}" if record["selection"] and "auto" not in record else ""
    say(messages, f"{kept.registry_name} fitted in {show_fit_seconds(record)}{chosen}; model: {out}")


def show_fit_seconds(record: Mapping[str, Any]) -> str:
    """How long a fit took just now, and what the cache saved it."""
    reused = float(record.get("reused_seconds", 0.0))
    took = show_seconds(record["fit_seconds"] - reused)
    return f"{took} (what once took {show_seconds(reused)} came from the cache)" if reused else took


def _check_target(out: Path, overwrite: bool) -> None:
    """Refuse before the work what saving would refuse after it; only a model may be overwritten."""
    if not out.exists():
        return
    if not overwrite:
        raise DataError(f"{out} already exists; choose another folder or pass --overwrite.")
    if not (out / "model.json").is_file() and not (out.is_dir() and not any(out.iterdir())):
        raise DataError(f"{out} is not a model, so it is not overwritten; choose another folder.")
