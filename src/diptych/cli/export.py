"""`diptych export`: a model as ONNX graphs."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from diptych.cli.options import AsJson, ModelFolder
from diptych.cli.saying import say
from diptych.cli.work_display import work_display_for
from diptych.data import Dataset
from diptych.export import Check, Exported, export_model


def export(
    model: ModelFolder,
    onnx: Annotated[Path, typer.Option("--onnx", metavar="DIR", help="The folder to make.")],
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="DATASET", help="Check on rows of this dataset too.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an export that is already there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a model as ONNX graphs, one a modality, that need no torch.

    Every graph is compared with the model before it may be used. The folder is a model itself: `diptych index`,
    `evaluate` and `embed` take it in the model's place.
    """
    messages = Console(stderr=True)
    opened = Dataset.open(dataset) if dataset is not None else None
    with work_display_for(messages) as display:
        exported = export_model(model, onnx, dataset=opened, overwrite=overwrite, progress=display)
    if as_json:
        typer.echo(json.dumps(exported.to_json(), indent=2, ensure_ascii=False))
        return
    for line in _report(exported):
        say(messages, line)


def _report(exported: Exported) -> list[str]:
    words = [f"exported: {exported.folder}"]
    for name, graph in exported.graphs.items():
        size = f"{exported.sizes[name] / 1e6:.1f} MB, codes of {graph.width}"
        words.append(f"{graph.file}: {size}; {_difference(exported.checks[name])}")
    words += [f"pipeline/{name}.onnx: {_difference(check)}" for name, check in exported.encoders.items()]
    words += [f"raw {name} items still need torch: {why}" for name, why in exported.needs_torch.items()]
    if exported.by_direction:
        words.append("the method compares other codes in each direction; the graphs hold those of `embed`")
    return words


def _difference(check: Check) -> str:
    rows = f"{check.rows} rows" + (f", {check.real} of the dataset" if check.real else "")
    words = f"differs from the model by at most {check.difference:.1e} over {rows}"
    if check.unsettled:
        words += f"; {check.unsettled} left out, where the model itself moves by more than {check.tolerance:.0e}"
    return words
