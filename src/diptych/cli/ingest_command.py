"""`diptych ingest`: make a dataset of images, sounds and texts, and show what was understood and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from diptych._core.errors import ConfigError
from diptych._core.progress import Progress
from diptych.cli.console import progress_on, resumable, say
from diptych.cli.dataset_commands import facts, print_facts
from diptych.cli.options import AsJson, Captions, ClusterAddress, Seed, Workers, split_names

if TYPE_CHECKING:
    from diptych.ingest import Ingested, MediaFacts, Plan, Understanding


def ingest(
    pairs: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A CSV, TSV, JSON or Parquet table, or a folder or archive of files."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DATASET", help="Folder of the new dataset.")],
    images: Annotated[
        Path | None, typer.Option("--images", metavar="ROOT", help="Folder, tar or zip with the files.")
    ] = None,
    image_features: Annotated[
        list[str] | None,
        typer.Option(
            "--image-features", metavar="NAME", help="Feature extractor; several are joined. See `diptych features`."
        ),
    ] = None,
    audio_features: Annotated[
        list[str] | None,
        typer.Option(
            "--audio-features", metavar="NAME", help="Feature extractor; several are joined. See `diptych features`."
        ),
    ] = None,
    text_features: Annotated[
        list[str] | None,
        typer.Option(
            "--text-features", metavar="NAME", help="Feature extractor; several are joined. See `diptych features`."
        ),
    ] = None,
    image_column: Annotated[
        str | None, typer.Option("--image-column", help="Column with an image's path, name or URL; - for none.")
    ] = None,
    audio_column: Annotated[
        str | None, typer.Option("--audio-column", help="Column with a sound's path, name or URL; - for none.")
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option("--text-column", help="Column with text or captions; several are joined; - for none."),
    ] = None,
    label_column: Annotated[
        str | None, typer.Option("--label-column", help="Column with the label; - for none.")
    ] = None,
    split_column: Annotated[
        str | None, typer.Option("--split-column", help="Column with train, val or test; - for none.")
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id-column", help="Column with a unique id; - for none.")] = None,
    drop_columns: Annotated[
        str | None, typer.Option("--drop-columns", metavar="A,B", help="Other columns to drop; all for every one.")
    ] = None,
    captions: Annotated[
        Captions,
        typer.Option(
            "--captions", help="Several captions of an image: join them, keep the first, or make each an item."
        ),
    ] = "join",
    label_separator: Annotated[
        str | None, typer.Option("--label-separator", help="Separator between several labels.")
    ] = None,
    missing_label: Annotated[str | None, typer.Option("--missing-label", help="Value that means no label.")] = None,
    split_shares: Annotated[
        str | None,
        typer.Option("--split-shares", metavar="TRAIN,VAL,TEST", help="Draw splits at random, such as 70,10,20."),
    ] = None,
    pipeline: Annotated[
        Path | None,
        typer.Option(
            "--pipeline", metavar="FOLDER", help="Use the fitted feature extractors of this dataset or model."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the dataset.")] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Encoding of the table, if it is not UTF-8.")
    ] = None,
    seed: Seed = 0,
    workers: Workers = None,
    cluster: ClusterAddress = None,
    fit_images: Annotated[
        int,
        typer.Option(
            "--fit-images", "--fit-pictures", min=1, help="Most training images used to fit feature extractors."
        ),
    ] = 2000,
    max_pixels: Annotated[
        int, typer.Option("--max-pixels", min=1, help="Larger images count as broken.")
    ] = 100_000_000,
    max_bytes: Annotated[int, typer.Option("--max-bytes", min=1, help="Larger files count as broken.")] = 200 * 2**20,
    max_seconds: Annotated[float, typer.Option("--max-seconds", min=1, help="Longer sounds count as broken.")] = 600.0,
    on_broken: Annotated[
        Literal["skip", "fatal"],
        typer.Option("--on-broken", help="Skip broken files and list them, or stop at the first."),
    ] = "skip",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing dataset.")] = False,
    reuse: Annotated[
        bool,
        typer.Option("--reuse/--no-reuse", help="Reuse features that an earlier ingest extracted from the same files."),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Make a dataset from images, sounds and texts; the roles of columns are inferred and shown.

    Run the same command to continue an interrupted run; the result is identical, byte for byte.
    """
    from diptych.features import DEFAULT_FEATURES
    from diptych.ingest import IngestOptions, SplitShares
    from diptych.ingest import ingest as ingest_items

    columns: dict[str, str | list[str] | None] = {"image": image_column, "audio": audio_column, "text": text_column}
    columns |= {"label": label_column, "split": split_column, "id": id_column}
    if pipeline is not None and (image_features or audio_features or text_features):
        raise ConfigError("--pipeline has its own features; give it or name features, not both.")
    given = {"image": image_features, "audio": audio_features, "text": text_features}
    options = IngestOptions(
        pairs=pairs,
        out=out,
        images=images,
        features={name: "+".join(given.get(name) or [default]) for name, default in DEFAULT_FEATURES.items()},
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
        fit_images=fit_images,
        max_pixels=max_pixels,
        max_bytes=max_bytes,
        max_seconds=max_seconds,
        on_broken=on_broken,
        overwrite=overwrite,
        reuse=reuse,
    )
    if cluster is not None and workers is not None:
        raise ConfigError("--workers are processes of this machine; give them or --cluster, not both.")
    run_ingest(partial(ingest_items, options, cluster=cluster), workers, as_json=as_json)


_SHOWN_PROBLEMS = 10
_SHOWN_COLUMNS = 24


class Ingest(Protocol):
    """An ingest with its options, which can be resumed."""

    def __call__(self, *, workers: int, progress: Progress, planned: Callable[[Plan], None]) -> Ingested:
        """Run it."""


def run_ingest(run: Ingest, workers: int | None, *, as_json: bool = False) -> None:
    """Run an ingest and show its progress and result; an interrupt ends with exit status 130.

    Args:
        run: the ingest.
        workers: parallel processes; None for one per core.
        as_json: print the result as JSON; messages go to stderr either way.
    """
    from diptych._core.processes import usable_cores
    from diptych.ingest import understanding_of

    messages = Console(stderr=True)
    understood: list[Understanding] = []

    def planned(plan: Plan) -> None:
        understood.append(understanding_of(plan))
        show_understanding(understood[-1], messages)

    with resumable(messages), progress_on(messages) as display:
        made = run(workers=usable_cores() if workers is None else workers, progress=display, planned=planned)
    _show_outcome(made, messages)
    if as_json:
        shown = facts(made.dataset) | {"report": made.report.to_json(), "resumed": made.resumed}
        shown |= {"reused": made.reused, "understood": understood[0].to_json() if understood else None}
        typer.echo(json.dumps(shown, indent=2, ensure_ascii=False, default=str))
        return
    print_facts(made.dataset, Console())


def show_understanding(understood: Understanding, console: Console) -> None:
    """Print what each column or folder was read as and why, and how many items, images, texts and labels there are."""
    if understood.columns:
        columns = Table("column", "read as", "because", box=None, pad_edge=False, header_style="bold")
        columns.add_column("for example", no_wrap=True, overflow="ellipsis", max_width=max(20, console.width - 60))
        for use in understood.columns[:_SHOWN_COLUMNS]:
            columns.add_row(*map(escape, (use.column, use.part, use.reason, use.example)))
        console.print(columns)
        if len(understood.columns) > _SHOWN_COLUMNS:
            say(console, f"… and {len(understood.columns) - _SHOWN_COLUMNS:,} more columns")
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, fact in understood_facts(understood):
        table.add_row(escape(name), escape(fact))
    console.print(table)
    for warning in understood.warnings:
        console.print(f"[yellow]{escape(warning)}[/yellow]", soft_wrap=True, highlight=False)


def understood_facts(understood: Understanding) -> Iterator[tuple[str, str]]:
    """Yield what was understood, line by line."""
    from diptych.media import media_kind

    table = f"the table {understood.table}, {understood.rows:,} rows" if understood.table else ""
    left_out = f"{understood.left_out:,} rows or files left out" if understood.left_out else ""
    yield "items", ", ".join(filter(None, (f"{understood.items:,}", table, left_out)))
    yield "images", _found(understood.images)
    yield from ((media_kind(name).plural, _found(facts)) for name, facts in understood.others.items())
    spoken = sum(understood.languages.values())
    languages = ", ".join(f"{name} {count / spoken:.0%}" for name, count in list(understood.languages.items())[:4])
    yield "texts", ", ".join(filter(None, (f"{understood.with_text:,}", languages)))
    classes = ", ".join(list(understood.classes)[:3]) + (", …" if len(understood.classes) > 3 else "")
    share = f"{understood.label_share:.0%} of the items"
    labels = f"{understood.labelled:,} ({share}) of {len(understood.classes):,} classes: {classes}"
    yield "labels", labels if understood.labelled else "none"
    drawn = " (drawn)" if understood.splits_drawn else ""
    yield "train/val/test", "/".join(f"{count:,}" for count in understood.splits.values()) + drawn


def _found(files: MediaFacts) -> str:
    missing = f"{files.missing:,} missing" if files.missing else ""
    broken = f"{files.broken:,} broken" if files.broken else ""
    looked = f"of {files.looked_at:,} looked at" if broken and files.looked_at < files.found else ""
    found = ", ".join(filter(None, (f"{files.found:,} found", missing, " ".join(filter(None, (broken, looked))))))
    return f"{found}, in {files.place} ({files.kind})"


def _show_outcome(made: Ingested, console: Console) -> None:
    from diptych.ingest.run import REPORT_FILE

    if made.resumed:
        say(console, "continued from an earlier run")
    for modality, count in made.reused.items():
        if count:
            say(console, f"{count:,} {modality} features reused")
    problems = made.report.problems
    for problem in problems[:_SHOWN_PROBLEMS]:
        say(console, str(problem))
    if len(problems) > _SHOWN_PROBLEMS:
        say(console, f"… and {len(problems) - _SHOWN_PROBLEMS:,} more")
    if problems:
        counts = f"{made.report.count('picture'):,} broken files, {made.report.count('row'):,} skipped rows"
        say(console, f"{counts}; all reasons: {made.dataset.path / REPORT_FILE}")
