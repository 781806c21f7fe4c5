"""`diptych probe`: what each descriptor of a dataset tells of the classes."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.cli.options import AsJson, SplitOption
from diptych.cli.tables import output_console
from diptych.cli.work_display import work_display_for
from diptych.data import Dataset
from diptych.experiments import Probed, probe_features

_HEADINGS = ("modality", "columns", "", "accuracy (95%)", "balanced", "validation")


def probe(
    datasets: Annotated[list[Path], typer.Argument(metavar="DATASET...", help="Folders of datasets.")],
    split: SplitOption = "test",
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print tables for a page.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell the classes from each modality, and from each descriptor alone, by logistic regression."""
    opened = [Dataset.open(folder) for folder in datasets]
    with work_display_for(Console(stderr=True)) as display:
        found = [probe_features(dataset, split=split, progress=display) for dataset in opened]
    if as_json:
        typer.echo(json.dumps([probed.to_json() for probed in found], indent=2, ensure_ascii=False))
    elif as_markdown:
        typer.echo("\n\n".join(map(_markdown, found)))
    else:
        for probed in found:
            output_console().print(_table(probed))


def _rows(probed: Probed) -> list[tuple[str, ...]]:
    return [
        (
            each.modality,
            each.name,
            f"{each.columns:,}",
            f"{each.accuracy:.3f} ({each.interval[0]:.3f}–{each.interval[1]:.3f})",
            f"{each.balanced:.3f}",
            f"{each.validation:.3f}",
        )
        for each in probed.probes
    ]


def _says(probed: Probed) -> str:
    return f"always naming the most frequent class: {probed.chance:.3f}; penalties chosen on validation"


def _table(probed: Probed) -> Table:
    title = f"{probed.dataset}, split {probed.split}: accuracy of logistic regression"
    table = Table(title=escape(title), caption=_says(probed))
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading in ("modality", "columns") else "right")
    for row in _rows(probed):
        table.add_row(*map(escape, row))
    return table


def _markdown(probed: Probed) -> str:
    features = ", ".join(f"{name} as `{written}`" for name, written in probed.features.items()) or probed.dataset
    lines = [f"{features}; split {probed.split}; {_says(probed)}.", "", f"| {' | '.join(_HEADINGS)} |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: |")
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in _rows(probed))])
