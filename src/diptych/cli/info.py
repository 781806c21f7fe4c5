"""`diptych info`: what is in a dataset."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.data.dataset import SPLITS, Dataset
from diptych.errors import DataError


def info(
    dataset: Annotated[Path, typer.Argument(help="A dataset's folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Read everything and compare it with its hashes.")] = False,
) -> None:
    """Show what a dataset holds."""
    opened = Dataset.open(dataset)
    if verify:
        changed = opened.changed_parts()
        if changed:
            raise DataError(f"{dataset} is not as it was written: {', '.join(changed)} changed; import it again.")
    if as_json:
        typer.echo(json.dumps(facts(opened) | ({"verified": True} if verify else {}), indent=2, ensure_ascii=False))
        return
    console = Console()
    print_facts(opened, console)
    if verify:
        console.print("All parts are as they were written.")


def facts(dataset: Dataset) -> dict[str, Any]:
    """Everything `info` shows, as JSON values."""
    parts = {name: dataset.split(name) for name in SPLITS}
    counts = {name: part.labels.class_counts().tolist() for name, part in parts.items()}
    return {
        "name": dataset.name,
        "path": str(dataset.path),
        "fingerprint": dataset.fingerprint,
        "items": len(dataset),
        "splits": {name: len(part) for name, part in parts.items()},
        "labelled": {name: int(part.labels.is_labelled.sum()) for name, part in parts.items()},
        "several_labels": not dataset.labels.is_single,
        "modalities": {
            name: {"kind": m.kind, "dimension": m.dimension, "lacking": len(dataset) - m.items}
            for name, m in dataset.modalities.items()
        },
        "classes": {
            name: {split: counts[split][code] for split in SPLITS} for code, name in enumerate(dataset.classes)
        },
        "metadata": dataset.metadata_columns,
        "source": dict(dataset.source),
    }


def print_facts(dataset: Dataset, console: Console) -> None:
    """Print a dataset's facts for a person."""
    found = facts(dataset)
    console.print(f"[bold]{escape(found['name'])}[/bold]  {escape(found['path'])}", soft_wrap=True)
    several = ", some with several labels" if found["several_labels"] else ""
    lines = {
        "items": f"{found['items']:,}, {len(found['classes'])} classes{several}",
        "train/val/test": "/".join(str(found["splits"][split]) for split in SPLITS),
        "labelled": "/".join(str(found["labelled"][split]) for split in SPLITS),
        "fingerprint": found["fingerprint"],
    }
    for key, value in lines.items():
        console.print(f"{key}: {value}", highlight=False, soft_wrap=True)
    console.print(_modality_table(found))
    if found["classes"]:
        console.print(_class_table(found))


def _modality_table(found: dict[str, Any]) -> Table:
    table = Table("modality", "kind", "dimension", "items lacking it", title_justify="left")
    for name, modality in found["modalities"].items():
        table.add_row(name, modality["kind"], f"{modality['dimension']}-d", str(modality["lacking"]))
    return table


def _class_table(found: dict[str, Any]) -> Table:
    table = Table("class", *SPLITS, "all")
    for name, counts in found["classes"].items():
        numbers = [counts[split] for split in SPLITS]
        table.add_row(escape(name), *(str(number) for number in (*numbers, sum(numbers))))
    return table
