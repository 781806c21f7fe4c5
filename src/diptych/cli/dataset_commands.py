"""`diptych info` and `diptych probe`: what a dataset holds, and how well its features separate the classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych._core.errors import DataError
from diptych._core.rendering import table as markdown_table
from diptych._core.rendering import with_interval
from diptych.cli.console import output_console, progress_on
from diptych.cli.options import AsJson, DatasetFolder, SplitOption

if TYPE_CHECKING:
    from diptych._core.arrays import Booleans, Integers
    from diptych.data import Dataset
    from diptych.experiments import Probed


def info(
    dataset: DatasetFolder,
    as_json: AsJson = False,
    verify: Annotated[bool, typer.Option("--verify", help="Read every file and compare it with its hash.")] = False,
) -> None:
    """Show a dataset's items, splits, modalities and classes."""
    from diptych.data import Dataset

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
        console.print("All parts match their checksums.")


def facts(dataset: Dataset) -> dict[str, Any]:
    """Collect what `info` shows as JSON values; an image and its text are one item, even where they are two rows."""
    import numpy as np

    from diptych.data import SPLITS

    documents = np.unique(dataset.everything.documents, return_inverse=True)[1]
    count = int(documents.max(initial=-1)) + 1
    split_of = np.asarray([SPLITS.index(split) for split in dataset.splits], dtype=np.int64)
    labelled, codes = _classes_of_documents(dataset, documents)
    split_of_document = np.zeros(count, dtype=np.int64)
    split_of_document[documents] = split_of
    has = {name: _any_of(documents, dataset.has(name), count) for name in dataset.modalities}
    in_split = {name: split_of_document == number for number, name in enumerate(SPLITS)}
    return {
        "name": dataset.name,
        "path": str(dataset.path),
        "fingerprint": dataset.fingerprint,
        "items": count,
        "rows": len(dataset),
        "splits": {name: int(here.sum()) for name, here in in_split.items()},
        "labelled": {name: len(np.unique(labelled[here[labelled]])) for name, here in in_split.items()},
        "several_labels": not dataset.labels.is_single,
        "modalities": {
            name: {"kind": m.kind, "dimension": m.dimension, "items": int(has[name].sum())}
            | {"lacking": count - int(has[name].sum())}
            for name, m in dataset.modalities.items()
        },
        "complete": int(np.logical_and.reduce(list(has.values())).sum()) if has else 0,
        "classes": {
            name: {split: int(here[labelled[codes == code]].sum()) for split, here in in_split.items()}
            for code, name in enumerate(dataset.classes)
        },
        "metadata": dataset.metadata_columns,
        "source": dict(dataset.source),
    }


def _any_of(documents: Integers, marked: Booleans, count: int) -> Booleans:
    """Which documents have a row that is marked."""
    import numpy as np

    found = np.zeros(count, dtype=np.bool_)
    found[documents[marked]] = True
    return found


def _classes_of_documents(dataset: Dataset, documents: Integers) -> tuple[Integers, Integers]:
    """The documents that have a class, and which, once each, on whichever of their rows it stands."""
    import numpy as np

    rows, codes = dataset.labels.matrix.nonzero()
    pairs = np.unique(np.stack([documents[rows], codes]), axis=1)
    return np.asarray(pairs[0], dtype=np.int64), np.asarray(pairs[1], dtype=np.int64)


def print_facts(dataset: Dataset, console: Console) -> None:
    """Print what a dataset holds."""
    from diptych.data import SPLITS

    found = facts(dataset)
    console.print(f"[bold]{escape(found['name'])}[/bold]  {escape(found['path'])}", soft_wrap=True)
    several = ", some with several labels" if found["several_labels"] else ""
    rows = f" in {found['rows']:,} rows" if found["rows"] != found["items"] else ""
    lines = {
        "items": f"{found['items']:,}{rows}, {len(found['classes'])} classes{several}",
        "train/val/test": "/".join(str(found["splits"][split]) for split in SPLITS),
        "labelled": "/".join(str(found["labelled"][split]) for split in SPLITS),
        "with all modalities": f"{found['complete']:,}",
        "metadata": ", ".join(name for name in found["metadata"] if name != "text" and not name.startswith("media"))
        or "none",
        "fingerprint": found["fingerprint"],
    }
    for key, value in lines.items():
        console.print(f"{key}: {escape(value)}", highlight=False, soft_wrap=True)
    console.print(_modality_table(found))
    if found["classes"]:
        console.print(_class_table(found))


def _modality_table(found: dict[str, Any]) -> Table:
    table = Table("modality", "kind", "dimension", "items", "items lacking it", title_justify="left")
    for name, modality in found["modalities"].items():
        counts = f"{modality['items']:,}", f"{modality['lacking']:,}"
        table.add_row(name, modality["kind"], f"{modality['dimension']}-d", *counts)
    return table


def _class_table(found: dict[str, Any]) -> Table:
    from diptych.data import SPLITS

    table = Table("class", *SPLITS, "all")
    for name, counts in found["classes"].items():
        numbers = [counts[split] for split in SPLITS]
        table.add_row(escape(name), *(str(number) for number in (*numbers, sum(numbers))))
    return table


_HEADINGS = ("modality", "columns", "", "accuracy (95%)", "balanced", "validation")


def probe(
    datasets: Annotated[list[Path], typer.Argument(metavar="DATASET", help="Folders of datasets.")],
    split: SplitOption = "test",
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    as_json: AsJson = False,
) -> None:
    """Predict the classes from each modality, and from each feature extractor alone, by logistic regression."""
    from diptych.data import Dataset
    from diptych.experiments import probe_features

    opened = [Dataset.open(folder) for folder in datasets]
    with progress_on(Console(stderr=True)) as display:
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
            with_interval(each.accuracy, each.interval),
            f"{each.balanced:.3f}",
            f"{each.validation:.3f}",
        )
        for each in probed.probes
    ]


def _caption(probed: Probed) -> str:
    return f"most frequent class: {probed.chance:.3f}; penalties chosen on validation"


def _table(probed: Probed) -> Table:
    title = f"{probed.dataset}, split {probed.split}: accuracy of logistic regression"
    table = Table(title=escape(title), caption=_caption(probed))
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading in ("modality", "columns") else "right")
    for row in _rows(probed):
        table.add_row(*map(escape, row))
    return table


def _markdown(probed: Probed) -> str:
    features = ", ".join(f"{name} as `{written}`" for name, written in probed.features.items()) or probed.dataset
    lines = markdown_table(_HEADINGS, _rows(probed), numbers=_HEADINGS[2:])
    return "\n".join([f"{features}; split {probed.split}; {_caption(probed)}.", "", *lines])
