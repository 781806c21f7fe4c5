"""`diptych embed`: the codes of a dataset's items under a saved model."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError
from diptych._core.files import atomic_file, write_npy
from diptych.cli.options import DatasetFolder, ModelFolder, PurposeOption, SplitOption
from diptych.data import Dataset
from diptych.methods.model_folder import load_model


def embed(
    model: ModelFolder,
    dataset: DatasetFolder,
    modality: Annotated[str, typer.Option("--modality", help="The modality to embed.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="E.npy", help="Where to write; ids go to E.ids.json.")],
    split: SplitOption = "test",
    purpose: PurposeOption = "auto",
) -> None:
    """Write the codes of a split's items as a float32 table, and their ids beside it.

    Items are read, embedded and written a few thousand at a time, so that a large split needs no more memory than a
    small one. Only a modality of counts is read whole.
    """
    if out.suffix != ".npy":
        raise ConfigError(f"{out} does not end in .npy; name a file such as codes.npy.")
    opened, fitted = Dataset.open(dataset), load_model(model)
    fitted.check_rows_of(opened)
    part = opened.split(split).having(modality)
    if not len(part):
        raise DataError(f"{dataset} has no {split} item with {modality}; choose another split.")
    fitted.settle_purpose(purpose)
    codes = fitted.embed_blocks(modality, part.blocks(modality), purpose)
    ids = out.with_suffix(".ids.json")
    started = time.perf_counter()
    try:
        # The ids wait for the codes, so that a failure leaves neither.
        with atomic_file(ids) as temporary, _shown(codes, len(part)) as shown:
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
    """Yield the same blocks; on a terminal a bar follows them."""
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
