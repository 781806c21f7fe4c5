"""`diptych fit`: fit one method on a dataset and save the model."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych._core.errors import DiptychError
from diptych._core.progress import show_seconds
from diptych.cli.console import output_console, say
from diptych.cli.options import (
    AsJson,
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
    from diptych.methods.registry import Entry

_NOTHING_KEPT = "nothing was kept; run the same command to start again."


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
    bits: Annotated[
        int | None,
        typer.Option("--bits", metavar="N", help="Learn binary codes of N bits too, such as 64, 128, 256 or 512."),
    ] = None,
    devices: Annotated[
        int, typer.Option("--devices", metavar="N", help="Train with N processes: on N GPUs, or all on the CPU.")
    ] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing model.")] = False,
) -> None:
    """Fit one method and save the model; by default a method that suits the data, within a minute.

    If only some training pairs have a label, labels are propagated unless --no-propagate is given. Ctrl-C stops the
    fit; finished stages of a network's training are kept, and the same command continues from there.
    """
    from diptych._core.files import refuse_existing
    from diptych.data import Dataset, Protocol
    from diptych.experiments import Recipe
    from diptych.methods import method_class
    from diptych.methods.binary_codes import check_bits
    from diptych.methods.parallel import check_parallel, is_worker, launch_workers
    from diptych.methods.training_inputs import lacks_labels

    if bits is not None:
        check_bits(bits)
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
        _fit(dataset, recipe, out, devices, overwrite, bits)
        return
    refuse_existing(out, overwrite=overwrite, only=("model.json", "a model"))
    try:
        if devices > 1:
            launch_workers(sys.argv[1:], devices)
        else:
            _fit(dataset, recipe, out, devices, overwrite, bits)
    except KeyboardInterrupt:
        keeps = params.get("cache", known.get("cache")) is not None
        rest = "what was trained so far is kept; run the same command to continue." if keeps else _NOTHING_KEPT
        say(Console(stderr=True), f"stopped; {rest}")
        raise typer.Exit(130) from None


def _fit(dataset: Path, recipe: Recipe, out: Path, devices: int, overwrite: bool, bits: int | None) -> None:
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
        if bits is not None:
            fitted.binarise(bits, Dataset.open(dataset), seed=recipe.seeds[0])
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
    binary = f", with binary codes of {kept.bits} bits" if kept.bits else ""
    say(messages, f"{kept.registry_name} fitted in {show_fit_seconds(record)}{chosen}{binary}; model: {out}")


def show_fit_seconds(record: Mapping[str, Any]) -> str:
    """Write how long a fit took just now, and what the cache saved."""
    reused = float(record.get("reused_seconds", 0.0))
    took = show_seconds(record["fit_seconds"] - reused)
    return f"{took} (saved {show_seconds(reused)} by the cache)" if reused else took


def methods(as_json: AsJson = False) -> None:
    """List the methods: what each is, what it learns from, and whether it depends on a seed."""
    from diptych.methods import registry

    if as_json:
        typer.echo(json.dumps([describe(name) for name in registry.names()], indent=2, ensure_ascii=False))
        return
    rows = [_listed(name, known) for name, known in registry.entries().items()]
    table = Table()
    for heading in ("method", "what it is", "learns from", "seed", "modalities"):
        table.add_column(heading, no_wrap=heading == "method")
    for row in rows:
        if row["problem"]:
            table.add_row(escape(row["name"]), escape(row["summary"]), f"[red]{escape(row['problem'])}[/red]", "", "")
            continue
        count = "any number" if row["max_modalities"] is None else str(row["max_modalities"])
        cells = (row["name"], row["summary"], row["uses"], "yes" if row["stochastic"] else "no", count)
        table.add_row(*map(escape, cells))
    output_console().print(table)


def _listed(name: str, known: Entry) -> dict[str, Any]:
    """What the table says of a method: read from its source where that spares importing torch."""
    from diptych.methods import registry

    declared = registry.declared(known)
    if declared is None:
        return describe(name)
    head = {"name": name, "summary": known.summary, "problem": registry.missing_package(name, known)}
    return head | _facts(declared)


def describe(name: str) -> dict[str, Any]:
    """Describe a method without fitting it."""
    from diptych.methods import registry

    head = {"name": name, "summary": registry.entry(name).summary}
    try:
        method = registry.method_class(name)
    except (DiptychError, ImportError) as error:
        return head | {"problem": str(error)}
    defaults = {**method.parameter_defaults(), **registry.entry(name).defaults}
    facts = _facts({fact: getattr(method, fact) for fact in _FACTS})
    return (
        head
        | facts
        | {
            "citation": method.citation,
            "params": {key: value if _is_plain(value) else str(value) for key, value in defaults.items()},
            "problem": None,
        }
    )


_FACTS = ("uses_pairs", "uses_labels", "uses_unlabelled", "stochastic", "max_modalities")


def _facts(known: Mapping[str, Any]) -> dict[str, Any]:
    uses = ["pairs"] * known["uses_pairs"] + ["labels"] * known["uses_labels"]
    uses += ["unlabelled features"] * known["uses_unlabelled"]
    return {
        "uses": " + ".join(uses) or "nothing",
        "stochastic": known["stochastic"],
        "max_modalities": known["max_modalities"],
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, str | bool | int | float | list | tuple | None)


def features(as_json: AsJson = False) -> None:
    """List the feature extractors of images and texts: name, dimension, and whether each is installed."""
    from diptych.features import DEFAULT_FEATURES, describe_features, media_types

    rows = [row for media_type in media_types() for row in describe_features(media_type)]
    if as_json:
        typer.echo(json.dumps({"default": DEFAULT_FEATURES, "features": rows}, indent=2, ensure_ascii=False))
        return
    for media_type in media_types():
        table = Table(title=f"{media_type} features (--{media_type}-features)", title_justify="left")
        for heading in ("feature", "columns", "what it is", "here"):
            table.add_column(heading, no_wrap=heading == "feature", justify="right" if heading == "columns" else "left")
        for row in rows:
            if row["media_type"] == media_type:
                table.add_row(*_cells(row))
        output_console().print(table)
    typer.echo("Join features with a plus (bow:3000+minilm); settings follow a comma (bow:3000,max_df=0.5).")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    columns = "varies" if row["dimension"] is None else f"{row['dimension']:,}"
    here = "default" if row["default"] else "ready" if row["installed"] else f"{row['needs']}"
    if row["default"] and not row["installed"]:
        here = f"default, but first: {row['needs']}"
    style = "" if row["installed"] else "yellow"
    return escape(row["written"]), columns, escape(row["summary"]), f"[{style}]{escape(here)}[/]" if style else here
