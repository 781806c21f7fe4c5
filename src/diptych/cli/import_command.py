"""`diptych import`: make a dataset from released files or feature arrays."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from diptych._core.errors import ConfigError
from diptych.cli.dataset_commands import print_facts
from diptych.cli.ingest_command import run_ingest
from diptych.cli.options import Captions, Seed, Workers

if TYPE_CHECKING:
    from diptych.data.dataset import Dataset


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Make a dataset from released files or feature arrays.",
)

Source = Annotated[Path, typer.Argument(help="Folder with the released files.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder of the new dataset.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing dataset.")]
ValShare = Annotated[float, typer.Option("--val-share", help="Share of validation items, if splits are drawn.")]
TestShare = Annotated[float, typer.Option("--test-share", help="Share of test items, if splits are drawn.")]
WikipediaSplit = Annotated[
    Literal["auto", "authors", "seeded"], typer.Option("--split", help="The authors' split, or one drawn by seed.")
]
Features = typer.Option(metavar="NAME", help="Feature extractors, joined by +.")


@app.command()
def wikipedia(
    source: Source,
    out: Out,
    split: WikipediaSplit = "auto",
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """Import the released features of the Wikipedia dataset."""
    from diptych.data.importers import import_wikipedia

    _report(import_wikipedia(source, out, seed=seed, split=split, overwrite=overwrite))


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
    """Extract features from the raw Wikipedia dataset, its images and XML articles. Run again to continue."""
    from diptych.ingest.releases import read_wikipedia_raw

    features = {"image": image_features, "text": text_features}
    read = read_wikipedia_raw(source, out, features=features, split=split, seed=seed, overwrite=overwrite)
    run_ingest(read.ingest, workers)


@app.command()
def rsicd(
    source: Source,
    out: Out,
    image_features: Annotated[str, Features] = "nuswide",
    text_features: Annotated[str, Features] = "bow:1000",
    captions: Annotated[
        Captions,
        typer.Option(
            "--captions", help="Several captions of an image: join them, keep the first, or make each an item."
        ),
    ] = "join",
    seed: Seed = 0,
    workers: Workers = None,
    overwrite: Overwrite = False,
) -> None:
    """Extract features from RSICD, aerial images and their captions, as released. Run again to continue."""
    from diptych.ingest.releases import read_rsicd

    features = {"image": image_features, "text": text_features}
    read = read_rsicd(source, out, features=features, captions=captions, seed=seed, overwrite=overwrite)
    run_ingest(read.ingest, workers)


@app.command()
def tuxpaint(
    source: Annotated[
        Path,
        typer.Argument(help="Folder with the stamps; Debian's package tuxpaint-stamps-default has them."),
    ],
    out: Out,
    language: Annotated[
        str, typer.Option("--language", metavar="CODE", help="Language of the texts, such as en, fr or pt_BR.")
    ] = "en",
    sound: Annotated[
        Literal["effect", "spoken"],
        typer.Option("--sound", help="The sound of the thing (effect), or its description read aloud (spoken)."),
    ] = "effect",
    sound_language: Annotated[
        str | None,
        typer.Option("--sound-language", metavar="CODE", help="Language of spoken descriptions; that of the texts."),
    ] = None,
    image_features: Annotated[str, Features] = "efficientnet-lite0",
    audio_features: Annotated[str, Features] = "logmel+mfcc",
    text_features: Annotated[
        str | None, typer.Option(metavar="NAME", help="Feature extractors; minilm for English, else use.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    overwrite: Overwrite = False,
) -> None:
    """Extract features from the stamps of Tux Paint: images, texts and sounds. Run again to continue."""
    from diptych.ingest.tuxpaint import ENGLISH, read_tuxpaint

    words = text_features or ("minilm" if language.partition("_")[0] == ENGLISH else "use")
    features = {"image": image_features, "audio": audio_features, "text": words}
    read = read_tuxpaint(
        source,
        out,
        language=language,
        sound=sound,
        sound_language=sound_language,
        features=features,
        seed=seed,
        overwrite=overwrite,
    )
    run_ingest(read.ingest, workers)


@app.command()
def nuswide10k(
    source: Source,
    out: Out,
    seed: Seed = 0,
    per_class: Annotated[int, typer.Option("--per-class", min=1, help="Items of each class.")] = 1000,
    overwrite: Overwrite = False,
) -> None:
    """Make NUS-WIDE-10k from the released NUS-WIDE files."""
    from diptych.data.importers import import_nuswide10k

    _report(import_nuswide10k(source, out, seed=seed, per_class=per_class, overwrite=overwrite))


@app.command()
def arrays(
    out: Out,
    features: Annotated[
        list[str],
        typer.Option("--features", "-f", help="MODALITY=FILE, FILE.mat:VARIABLE or FILE.csv:PREFIX*; repeatable."),
    ],
    labels: Annotated[
        str | None, typer.Option("--labels", help="FILE or FILE.csv:COLUMN with labels; empty for none.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", help="MODALITY=dense or MODALITY=counts; repeatable.")
    ] = None,
    splits: Annotated[str | None, typer.Option("--splits", help="FILE:COLUMN with train, val or test.")] = None,
    ids: Annotated[str | None, typer.Option("--ids", help="FILE:COLUMN with one id per item.")] = None,
    documents: Annotated[
        str | None, typer.Option("--documents", help="FILE:COLUMN; items with equal values are partners.")
    ] = None,
    metadata: Annotated[
        list[str] | None, typer.Option("--metadata", help="NAME=FILE:COLUMN to keep; repeatable.")
    ] = None,
    classes: Annotated[Path | None, typer.Option("--classes", help="Text file with one class name per line.")] = None,
    label_separator: Annotated[
        str | None, typer.Option("--label-separator", help="Separator between several labels.")
    ] = None,
    missing_label: Annotated[str | None, typer.Option("--missing-label", help="Value that means no label.")] = None,
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Items with empty rows lack the modality.")
    ] = False,
    name: Annotated[str | None, typer.Option("--name", help="Name of the dataset.")] = None,
    seed: Seed = 0,
    val_share: ValShare = 0.1,
    test_share: TestShare = 0.2,
    overwrite: Overwrite = False,
) -> None:
    """Import your own features: npy, npz, csv, tsv, Parquet or MATLAB files with one row per item."""
    from diptych.data.importers import import_arrays

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
    items: Annotated[int, typer.Option("--items", help="Number of items.")] = 1200,
    classes: Annotated[int, typer.Option("--classes", help="Number of classes.")] = 8,
    unlabelled_share: Annotated[
        float, typer.Option("--unlabelled-share", help="Share of training items without label.")
    ] = 0.0,
    missing_share: Annotated[
        float, typer.Option("--missing-share", help="Share of items that lack one modality.")
    ] = 0.0,
    multi_label: Annotated[bool, typer.Option("--multi-label", help="Give items up to three labels.")] = False,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> None:
    """Make a small synthetic dataset of two modalities."""
    from diptych.data.synthetic import make_synthetic

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
        raise ConfigError(f"--classes is {path}, which is not a file; give a text file with one class name per line.")
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
