"""`diptych demo`: a small made-up dataset, all methods, one report, in a minute or two."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from diptych.cli.compare import run_comparison
from diptych.data import Dataset
from diptych.data.synthetic import make_synthetic
from diptych.experiments import Recipe

_ITEMS = 600


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for the dataset and its report.")],
) -> None:
    """Make a synthetic dataset, compare all methods on it, and say where the report is."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the demo's nets are so small that threads only cost time
    folder = out / "dataset"
    if (folder / "dataset.json").exists():
        dataset = Dataset.open(folder)
    else:
        dataset = make_synthetic(folder, items=_ITEMS, name="demo")
    words = f"dataset: {folder} ({len(dataset)} items, {len(dataset.classes)} classes)"
    Console(stderr=True).print(escape(words), soft_wrap=True, highlight=False)
    run_comparison(dataset, Recipe(profile="fast"), out / "report")
