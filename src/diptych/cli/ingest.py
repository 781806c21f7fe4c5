"""`diptych ingest`: from images and texts to a dataset."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from diptych._core.errors import ConfigError
from diptych.cli.ingest_display import run_shown
from diptych.cli.literals import split_names
from diptych.cli.options import AsJson
from diptych.features import DEFAULT_FEATURES
from diptych.ingest import IngestOptions, SplitShares
from diptych.ingest import ingest as run_ingest
from diptych.ingest.items import Captions
from diptych.ingest.options import OnBroken


def ingest(
    pairs: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A CSV, TSV, JSON or Parquet table, or a folder or archive of images."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DATASET", help="The folder to make.")],
    images: Annotated[
        Path | None, typer.Option("--images", metavar="ROOT", help="Folder, tar or zip with the images.")
    ] = None,
    image_features: Annotated[
        list[str] | None, typer.Option("--image-features", metavar="NAME", help="Several stand side by side.")
    ] = None,
    text_features: Annotated[
        list[str] | None, typer.Option("--text-features", metavar="NAME", help="Several stand side by side.")
    ] = None,
    image_column: Annotated[
        str | None, typer.Option("--image-column", help="The image's path, name or address; - for none.")
    ] = None,
    text_column: Annotated[
        list[str] | None, typer.Option("--text-column", help="Text or captions; several are joined; - for none.")
    ] = None,
    label_column: Annotated[str | None, typer.Option("--label-column", help="The class; - for none.")] = None,
    split_column: Annotated[str | None, typer.Option("--split-column", help="train, val or test; - for none.")] = None,
    id_column: Annotated[str | None, typer.Option("--id-column", help="A unique id; - for none.")] = None,
    drop_columns: Annotated[
        str | None, typer.Option("--drop-columns", metavar="A,B", help="Other columns not to keep; all for every one.")
    ] = None,
    captions: Annotated[
        Captions, typer.Option("--captions", help="Several captions: one text, the first, or an item each.")
    ] = "join",
    label_separator: Annotated[str | None, typer.Option("--label-separator", help="Between several labels.")] = None,
    missing_label: Annotated[str | None, typer.Option("--missing-label", help="A value that means no label.")] = None,
    split_shares: Annotated[
        str | None, typer.Option("--split-shares", metavar="TRAIN,VAL,TEST", help="Draw splits, such as 70,10,20.")
    ] = None,
    pipeline: Annotated[
        Path | None,
        typer.Option("--pipeline", metavar="FOLDER", help="Use the features of this dataset or model as they are."),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What to call the dataset.")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Of the table, where it is not UTF-8.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides everything that is drawn.")] = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", min=0, help="Parallel processes; all cores by default, 0 for this one.")
    ] = None,
    fit_pictures: Annotated[
        int, typer.Option("--fit-pictures", min=1, help="Training images that features learn from at most.")
    ] = 2000,
    max_pixels: Annotated[
        int, typer.Option("--max-pixels", min=1, help="Images that claim more are broken.")
    ] = 100_000_000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1, help="Larger files are broken.")] = 200 * 2**20,
    on_broken: Annotated[
        OnBroken, typer.Option("--on-broken", help="Skip broken images and list them, or stop at the first.")
    ] = "skip",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a dataset that is already there.")] = False,
    reuse: Annotated[
        bool, typer.Option("--reuse/--no-reuse", help="Take rows that earlier ingests made of the same files.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Make a dataset of images and texts; what is what is guessed by names and by content, and shown.

    An interrupted run is taken up by the same command, and its result is the same to the byte.
    """
    columns: dict[str, str | list[str] | None] = {"image": image_column, "text": text_column, "label": label_column}
    columns |= {"split": split_column, "id": id_column}
    if pipeline is not None and (image_features or text_features):
        raise ConfigError("--pipeline brings its features along; give it or name features, not both.")
    given = {"image": image_features, "text": text_features}
    options = IngestOptions(
        pairs=pairs,
        out=out,
        images=images,
        features={medium: "+".join(given[medium] or [default]) for medium, default in DEFAULT_FEATURES.items()},
        columns={part: column for part, column in columns.items() if column},
        drop_columns=split_names(drop_columns or ""),
        captions=captions,
        label_separator=label_separator,
        missing_label=missing_label,
        split_shares=None if split_shares is None else SplitShares.parse(split_shares),
        pipeline=pipeline,
        name=name,
        encoding=encoding,
        seed=seed,
        fit_pictures=fit_pictures,
        max_pixels=max_pixels,
        max_bytes=max_bytes,
        on_broken=on_broken,
        overwrite=overwrite,
        reuse=reuse,
    )
    run_shown(partial(run_ingest, options), workers, as_json=as_json)
