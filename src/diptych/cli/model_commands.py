"""`diptych evaluate`, `export` and `card`: score a model, write it as ONNX, describe it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from diptych.cli.console import output_console, progress_on, say
from diptych.cli.options import AsJson, DatasetFolder, ModelFolder, PurposeOption, SplitOption
from diptych.cli.score_tables import score_table

if TYPE_CHECKING:
    from diptych.export import Check, Exported

Normalisation = Literal["none", "eval-set", "train"]
Denominator = Literal["retrieved", "R", "min_R_K"]
Relevance = Literal["class", "document"]


def evaluate(
    model: ModelFolder,
    dataset: DatasetFolder,
    split: SplitOption = "test",
    znorm: Annotated[
        Normalisation,
        typer.Option("--znorm", help="z-score embeddings: not at all, over the split, or with training statistics."),
    ] = "none",
    ap_denominator: Annotated[
        Denominator, typer.Option("--ap-denominator", help="Denominator of AP@50.")
    ] = "retrieved",
    relevance: Annotated[
        Relevance,
        typer.Option("--relevance", help="Relevant is what shares a class, or what belongs to the same document."),
    ] = "class",
    purpose: PurposeOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Score a model on one split of a dataset: MAP by class, MRR and R@k by an item's own partner."""
    from diptych.data import Dataset
    from diptych.experiments import evaluate_model, model_block
    from diptych.methods.model_folder import load_model

    fitted, opened = load_model(model), Dataset.open(dataset)
    scores = evaluate_model(
        fitted,
        opened,
        split,
        normalisation=znorm,
        denominator=ap_denominator,
        relevance=relevance,
        purpose=purpose,
    )
    block = model_block(fitted, opened, scores)
    if as_json:
        typer.echo(json.dumps(block, indent=2, ensure_ascii=False))
    else:
        output_console().print(score_table(block, f"{fitted.registry_name} on {opened.name}, split {split}"))


def export(
    model: ModelFolder,
    onnx: Annotated[Path, typer.Option("--onnx", metavar="DIR", help="Folder of the exported model.")],
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="DATASET", help="Check on features of this dataset too.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing export.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a model as ONNX graphs, one per modality, that run without torch.

    Every graph is compared with the model. The folder is a model itself: `diptych index`, `evaluate` and `embed` take
    it in the model's place.
    """
    from diptych.data import Dataset
    from diptych.export import export_model

    messages = Console(stderr=True)
    opened = Dataset.open(dataset) if dataset is not None else None
    with progress_on(messages) as display:
        exported = export_model(model, onnx, dataset=opened, overwrite=overwrite, progress=display)
    if as_json:
        typer.echo(json.dumps(exported.to_json(), indent=2, ensure_ascii=False))
        return
    for line in _report(exported):
        say(messages, line)


def _report(exported: Exported) -> list[str]:
    lines = [f"exported: {exported.folder}"]
    for name, graph in exported.graphs.items():
        size = f"{exported.sizes[name] / 1e6:.1f} MB, embeddings of {graph.width}"
        lines.append(f"{graph.file}: {size}; {_difference(exported.checks[name])}")
    lines += [f"pipeline/{name}.onnx: {_difference(check)}" for name, check in exported.encoders.items()]
    lines += [f"raw {name} items still need torch: {why}" for name, why in exported.needs_torch.items()]
    if exported.by_direction:
        lines.append("the method compares other embeddings in each direction; the graphs compute those of `embed`")
    return lines


def _difference(check: Check) -> str:
    rows = f"{check.rows} rows" + (f", {check.real} of the dataset" if check.real else "")
    text = f"differs from the model by at most {check.difference:.1e} over {rows}"
    if check.unsettled:
        text += f"; {check.unsettled} left out, where the model itself moves by more than {check.tolerance:.0e}"
    return text


def card(
    model: ModelFolder,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="DATASET", help="Score the model on this dataset.")
    ] = None,
    split: SplitOption = "test",
    index: Annotated[
        Path | None, typer.Option("--index", metavar="INDEX", help="Report the calibration of this index.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="CARD.md", help="File to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model card, as Markdown or JSON."""
    from diptych._core.files import write_text
    from diptych.data import Dataset
    from diptych.export import model_card, render_card

    opened = Dataset.open(dataset) if dataset is not None else None
    content = model_card(model, dataset=opened, split=split, index=index)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n" if as_json else render_card(content)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    say(Console(stderr=True), f"card: {out}")
