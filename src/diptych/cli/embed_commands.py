"""`diptych embed` and `diptych embed-file`: embeddings of a dataset's items, and of new images and texts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from diptych._core.errors import ConfigError, DataError
from diptych.cli.options import (
    AsJson,
    ClusterAddress,
    DatasetFolder,
    ModelFolder,
    PurposeOption,
    SplitOption,
    cluster_executor,
)

if TYPE_CHECKING:
    from diptych._core.arrays import Singles
    from diptych.methods import Method


def embed(
    model: ModelFolder,
    dataset: DatasetFolder,
    modality: Annotated[str, typer.Option("--modality", help="The modality to embed.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="E.npy", help="File to write; ids go to E.ids.json.")],
    split: SplitOption = "test",
    purpose: PurposeOption = "auto",
    cluster: ClusterAddress = None,
) -> None:
    """Write the embeddings of a split's items as a float32 array, and their ids beside it.

    Items are read, embedded and written a few thousand at a time, so that a large split needs no more memory than a
    small one. Only a modality of counts is read whole.
    """
    from diptych._core.files import atomic_file, write_npy
    from diptych.data import Dataset
    from diptych.methods.model_folder import load_model
    from diptych.methods.parallel import embed_blocks_by

    if out.suffix != ".npy":
        raise ConfigError(f"{out} does not end in .npy; name a file such as embeddings.npy.")
    opened, fitted = Dataset.open(dataset), load_model(model)
    fitted.check_rows_of(opened)
    part = opened.split(split).having(modality)
    if not len(part):
        raise DataError(f"{dataset} has no {split} item with {modality}; choose another split.")
    fitted.settle_purpose(purpose)
    ids = out.with_suffix(".ids.json")
    with cluster_executor(cluster) as executor:
        embeddings = embed_blocks_by(executor, fitted, model, modality, part.blocks(modality), purpose)
        started = time.perf_counter()
        try:
            # The ids wait for the embeddings, so that a failure leaves neither.
            with atomic_file(ids) as temporary, _shown(embeddings, len(part)) as shown:
                with temporary.open("w", encoding="utf-8") as file:
                    json.dump(part.ids.tolist(), file, indent=2, ensure_ascii=False)
                    file.write("\n")
                items, dimensions = write_npy(out, shown, len(part))
        except OSError as error:
            raise DataError(f"{out} cannot be written ({error.strerror}); choose another place.") from None
    rate = items / (time.perf_counter() - started)
    typer.echo(f"{items} items, {dimensions} dimensions, {rate:,.0f} items/s: {out}, ids: {ids}", err=True)


@contextmanager
def _shown(blocks: Iterator[Singles], count: int) -> Iterator[Iterator[Singles]]:
    """Yield the same blocks, with a progress bar on a terminal."""
    console = Console(stderr=True)
    columns = TextColumn("embedding"), BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=count)

        def follow() -> Iterator[Singles]:
            for block in blocks:
                size = len(block)
                yield block
                del block
                bar.advance(task, size)

        yield follow()


_TEXT_ENDINGS = (".txt", ".text", ".md")
_SHOWN_NUMBERS = 4


@dataclass(frozen=True)
class _RawItem:
    """One item to embed: its name, its modality, and the path or the text."""

    name: str
    modality: str
    raw: str


def embed_file(
    model: ModelFolder,
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="Image and text files.")] = None,
    text: Annotated[list[str] | None, typer.Option("--text", help="A text; repeatable.")] = None,
    modality: Annotated[
        str | None, typer.Option("--modality", help="Modality of the files, where their suffix does not tell.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="E.npy", help="File to write; names go to E.ids.json.")
    ] = None,
    purpose: PurposeOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Embed images and texts that are in no dataset, through the model's own pipeline."""
    import numpy as np

    from diptych.methods.model_folder import load_model

    if out is not None and out.suffix != ".npy":
        raise ConfigError(f"{out} does not end in .npy; name a file such as embeddings.npy.")
    fitted = load_model(model)
    items = [_from_file(fitted, path, modality) for path in files or []]
    items += [_RawItem(each, modality or _of_media_type(fitted, "text"), each) for each in text or []]
    if not items:
        raise ConfigError("there is nothing to embed; give files, or texts with --text.")
    embeddings = np.concatenate([fitted.embed_raw(one.modality, [one.raw], purpose) for one in items])
    if out is not None:
        _write(out, embeddings, items)
    if as_json:
        rows = zip(items, embeddings.tolist(), strict=True)
        found = [{"item": one.name, "modality": one.modality, "embedding": row} for one, row in rows]
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif out is None:
        for one, row in zip(items, embeddings, strict=True):
            shown = ", ".join(f"{number:.4g}" for number in row[:_SHOWN_NUMBERS])
            more = ", …" if len(row) > _SHOWN_NUMBERS else ""
            typer.echo(f"{one.name}: {one.modality}, {len(row)} dimensions [{shown}{more}]")


def _from_file(fitted: Method, path: Path, modality: str | None) -> _RawItem:
    from diptych.media import kind_of_name

    guessed = "text" if path.suffix.lower() in _TEXT_ENDINGS else kind_of_name(path.name) or "image"
    chosen = modality or _of_media_type(fitted, guessed)
    if fitted.pipeline.of(chosen).media_type != "text":
        return _RawItem(str(path), chosen, str(path))
    try:
        return _RawItem(str(path), chosen, path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a text file.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error}); save it as UTF-8.") from None


def _of_media_type(fitted: Method, media_type: str) -> str:
    """The model's modality of a media type: image, audio or text."""
    fitting = [name for name in fitted.modalities if fitted.pipeline.of(name).media_type == media_type]
    if len(fitting) != 1:
        known = ", ".join(fitted.modalities)
        raise ConfigError(
            f"the model has {len(fitting)} modalities of {media_type} ({known}); name one with --modality."
        )
    return fitting[0]


def _write(out: Path, embeddings: Singles, items: list[_RawItem]) -> None:
    from diptych._core.files import write_json, write_npy

    try:
        count, dimensions = write_npy(out, [embeddings], len(embeddings))
        write_json(out.with_suffix(".ids.json"), [one.name for one in items])
    except OSError as error:
        raise DataError(f"{out} cannot be written ({error.strerror}); choose another place.") from None
    typer.echo(f"{count} items, {dimensions} dimensions: {out}, names: {out.with_suffix('.ids.json')}", err=True)
