"""`diptych import`: make a dataset's folder from files people have."""

from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console

from diptych._core.errors import ConfigError
from diptych.cli.info import print_facts
from diptych.cli.ingest_display import run_shown
from diptych.data.dataset import Dataset
from diptych.data.importers import import_arrays, import_nuswide10k, import_wikipedia
from diptych.data.importers.wikipedia import Split
from diptych.data.synthetic import make_synthetic
from diptych.ingest.items import Captions
from diptych.ingest.releases import read_rsicd, read_wikipedia_raw

app = typer.Typer(no_args_is_help=True, help="Make a dataset's folder from files you have.")

Source = Annotated[Path, typer.Argument(help="The folder with the official files.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to make.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that is already there.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides everything that is drawn.")]
ValShare = Annotated[float, typer.Option("--val-share", help="The share of validation items in a split by seed.")]
TestShare = Annotated[float, typer.Option("--test-share", help="The share of test items in a split by seed.")]
WikipediaSplit = Annotated[str, typer.Option("--split", help="auto, authors or seeded.")]
Features = typer.Option(metavar="NAME", help="Several stand side by side with +.")
Workers = Annotated[
    int | None, typer.Option("--workers", min=0, help="Parallel processes; all cores by default, 0 for this one.")
]


@app.command()
def wikipedia(
    source: Source,
    out: Out,
    split: WikipediaSplit = "auto",
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """Import the official features of the Wikipedia set."""
    _report(import_wikipedia(source, out, seed=seed, split=cast(Split, split), overwrite=overwrite))


@app.command()
def wikipedia_raw(
    source: Source,
    out: Out,
    image_features: Annotated[str, Features] = "wikipedia",
    text_features: Annotated[str, Features] = "bow:3000",
    split: WikipediaSplit = "auto",
    seed: Seed = 0,
    workers: Workers = None,
    overwrite: Overwrite = False,
) -> None:
    """Make features of the raw Wikipedia set: its pictures and its articles in XML. Run again to go on."""
    features = {"image": image_features, "text": text_features}
    read = read_wikipedia_raw(source, out, features=features, split=cast(Split, split), seed=seed, overwrite=overwrite)
    run_shown(read.ingest, workers)


@app.command()
def rsicd(
    source: Source,
    out: Out,
    image_features: Annotated[str, Features] = "nuswide",
    text_features: Annotated[str, Features] = "bow:1000",
    captions: Annotated[
        Captions, typer.Option("--captions", help="Several captions: one text, the first, or an item each.")
    ] = "join",
    seed: Seed = 0,
    workers: Workers = None,
    overwrite: Overwrite = False,
) -> None:
    """Make features of RSICD: aerial pictures and their captions, as released. Run again to go on."""
    features = {"image": image_features, "text": text_features}
    read = read_rsicd(source, out, features=features, captions=captions, seed=seed, overwrite=overwrite)
    run_shown(read.ingest, workers)


@app.command()
def nuswide10k(
    source: Source,
    out: Out,
    seed: Seed = 0,
    per_class: Annotated[int, typer.Option("--per-class", min=1, help="How many items of each class.")] = 1000,
    overwrite: Overwrite = False,
) -> None:
    """Make NUS-WIDE-10k from the official NUS-WIDE files."""
    _report(import_nuswide10k(source, out, seed=seed, per_class=per_class, overwrite=overwrite))


@app.command()
def arrays(
    out: Out,
    features: Annotated[
        list[str],
        typer.Option("--features", "-f", help="MODALITY=FILE, FILE.mat:VARIABLE or FILE.csv:PREFIX*; once for each."),
    ],
    labels: Annotated[str | None, typer.Option("--labels", help="FILE or FILE.csv:COLUMN; empty for none.")] = None,
    kind: Annotated[list[str] | None, typer.Option("--kind", help="MODALITY=dense or MODALITY=counts.")] = None,
    splits: Annotated[str | None, typer.Option("--splits", help="FILE:COLUMN with train, val or test.")] = None,
    ids: Annotated[str | None, typer.Option("--ids", help="FILE:COLUMN with one id per item.")] = None,
    documents: Annotated[str | None, typer.Option("--documents", help="FILE:COLUMN; equal means partners.")] = None,
    metadata: Annotated[list[str] | None, typer.Option("--metadata", help="NAME=FILE:COLUMN to keep.")] = None,
    classes: Annotated[Path | None, typer.Option("--classes", help="A text file with one class name a line.")] = None,
    label_separator: Annotated[str | None, typer.Option("--label-separator", help="Between several labels.")] = None,
    missing_label: Annotated[str | None, typer.Option("--missing-label", help="A value that means no label.")] = None,
    allow_missing: Annotated[bool, typer.Option("--allow-missing", help="Empty rows lack the modality.")] = False,
    name: Annotated[str | None, typer.Option("--name", help="What to call the dataset.")] = None,
    seed: Seed = 0,
    val_share: ValShare = 0.1,
    test_share: TestShare = 0.2,
    overwrite: Overwrite = False,
) -> None:
    """Import your own features: npy, npz, csv, tsv, parquet or MATLAB files, one row per item."""
    dataset = import_arrays(
        out,
        features=_pairs(features, "--features"),
        labels=labels,
        kinds=_pairs(kind, "--kind"),
        splits=splits,
        ids=ids,
        documents=documents,
        metadata=_pairs(metadata, "--metadata"),
        classes=None if classes is None else _class_names(classes),
        label_separator=label_separator,
        missing_label=missing_label,
        allow_missing=allow_missing,
        name=name,
        seed=seed,
        val_share=val_share,
        test_share=test_share,
        overwrite=overwrite,
    )
    _report(dataset)


@app.command()
def synthetic(
    out: Out,
    items: Annotated[int, typer.Option("--items", help="How many items.")] = 1200,
    classes: Annotated[int, typer.Option("--classes", help="How many classes.")] = 8,
    unlabelled_share: Annotated[float, typer.Option("--unlabelled-share", help="Training items without label.")] = 0.0,
    missing_share: Annotated[float, typer.Option("--missing-share", help="Items that lack one modality.")] = 0.0,
    multi_label: Annotated[bool, typer.Option("--multi-label", help="Give items up to three labels.")] = False,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """Make a small two-view dataset to try things on."""
    dataset = make_synthetic(
        out,
        items=items,
        classes=classes,
        seed=seed,
        unlabelled_share=unlabelled_share,
        missing_share=missing_share,
        multi_label=multi_label,
        overwrite=overwrite,
    )
    _report(dataset)


def _report(dataset: Dataset) -> None:
    print_facts(dataset, Console())


def _pairs(given: list[str] | None, option: str) -> dict[str, str]:
    """Read `name=value` options, each name once."""
    pairs: dict[str, str] = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise ConfigError(f"{option} is {text!r}; write it as NAME=VALUE.")
        if key in pairs:
            raise ConfigError(f"{option} names '{key}' twice; give it once.")
        pairs[key] = value
    return pairs


def _class_names(path: Path) -> list[str]:
    if not path.is_file():
        raise ConfigError(f"--classes is {path}, which is no file; give a text file with one class name a line.")
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
