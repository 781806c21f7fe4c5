"""`diptych evaluate`: score a saved model on a dataset."""

import json
from typing import Annotated

import typer

from diptych.cli.options import AsJson, DatasetFolder, ModelFolder, PurposeOption, SplitOption
from diptych.cli.tables import output_console, score_table
from diptych.data import Dataset
from diptych.evaluation import Denominator, Normalisation
from diptych.experiments import Relevance, evaluate_model, model_block
from diptych.methods.model_folder import load_model


def evaluate(
    model: ModelFolder,
    dataset: DatasetFolder,
    split: SplitOption = "test",
    znorm: Annotated[
        Normalisation, typer.Option("--znorm", help="z-score representations: not, over the split, or as in training.")
    ] = "none",
    ap_denominator: Annotated[
        Denominator, typer.Option("--ap-denominator", help="What the precisions of AP@50 are divided by.")
    ] = "retrieved",
    relevance: Annotated[
        Relevance, typer.Option("--relevance", help="Relevant is what shares a class, or the same document.")
    ] = "class",
    purpose: PurposeOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Score a saved model on one split of a dataset: MAP by class, MRR and R@k by an item's own partner."""
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
