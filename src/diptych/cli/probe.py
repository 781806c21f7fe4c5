"""`diptych probe`: what each descriptor of a dataset tells of the classes."""

import json

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych.cli.options import AsJson, DatasetFolder, SplitOption
from diptych.cli.tables import output_console
from diptych.cli.work_display import work_display_for
from diptych.data import Dataset
from diptych.experiments import Probed, probe_features


def probe(dataset: DatasetFolder, split: SplitOption = "test", as_json: AsJson = False) -> None:
    """Tell the classes from each modality, and from each descriptor alone, by logistic regression."""
    opened = Dataset.open(dataset)
    with work_display_for(Console(stderr=True)) as display:
        probed = probe_features(opened, split=split, progress=display)
    if as_json:
        typer.echo(json.dumps(probed.to_json(), indent=2, ensure_ascii=False))
    else:
        output_console().print(_table(probed))


def _table(probed: Probed) -> Table:
    table = Table(
        title=escape(f"{probed.dataset}, split {probed.split}: accuracy of logistic regression"),
        caption=f"always naming the most frequent class: {probed.chance:.3f}; penalties chosen on validation",
    )
    for heading in ("modality", "columns", "", "accuracy (95%)", "balanced", "validation"):
        table.add_column(heading, justify="left" if heading in ("modality", "columns") else "right")
    for each in probed.probes:
        low, high = each.interval
        table.add_row(
            escape(each.modality),
            escape(each.name),
            f"{each.columns:,}",
            f"{each.accuracy:.3f} ({low:.3f}–{high:.3f})",
            f"{each.balanced:.3f}",
            f"{each.validation:.3f}",
        )
    return table
