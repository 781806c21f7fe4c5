"""`diptych card`: what a model is, what it learned from, how well it does and what it cannot do."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from diptych._core.files import write_text
from diptych.cli.options import AsJson, ModelFolder, SplitOption
from diptych.cli.saying import say
from diptych.data import Dataset
from diptych.export import model_card, render_card


def card(
    model: ModelFolder,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="DATASET", help="Score the model on this dataset.")
    ] = None,
    split: SplitOption = "test",
    index: Annotated[
        Path | None, typer.Option("--index", metavar="INDEX", help="Show how good the probabilities of this index are.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="CARD.md", help="Write it to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model's card, in Markdown or as JSON; what nobody measured it says it does not know."""
    opened = Dataset.open(dataset) if dataset is not None else None
    content = model_card(model, dataset=opened, split=split, index=index)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n" if as_json else render_card(content)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    say(Console(stderr=True), f"card: {out}")
