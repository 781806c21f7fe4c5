"""What is done with a model: `diptych evaluate`, `export`, `card`, `embed` and `embed-file`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from diptych._core.errors import ConfigError, DataError
from diptych.cli.console import output_console, progress_on, say
from diptych.cli.options import (
    AsJson,
    ClusterAddress,
    DatasetFolder,
    ModelFolder,
    PurposeOption,
    SplitOption,
    cluster_executor,
)
from diptych.cli.score_tables import score_table

if TYPE_CHECKING:
    from diptych._core.arrays import Singles
    from diptych.export import Check, Exported
    from diptych.methods import Method

Normalisation = Literal["none", "eval-set", "train"]
Denominator = Literal["retrieved", "R", "min_R_K"]
Relevance = Literal["class", "document"]


def evaluate(
    model: ModelFolder,
    dataset: DatasetFolder,
    split: SplitOption = "test",
    znorm: Annotated[
        Normalisation,
        typer.Option("--znorm", help="z-score embeddings: not at all, over the split, or with training statistics."),
    ] = "none",
    ap_denominator: Annotated[
        Denominator, typer.Option("--ap-denominator", help="Denominator of AP@50.")
    ] = "retrieved",
    relevance: Annotated[
        Relevance,
        typer.Option("--relevance", help="Relevant items share a class, or belong to the same document."),
    ] = "class",
    purpose: PurposeOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Score a model on one split of a dataset: MAP by class, MRR and R@k by an item's own partner."""
    from diptych.data import Dataset
    from diptych.experiments import evaluate_model, model_block
    from diptych.methods.model_folder import load_model

    fitted, opened = load_model(model), Dataset.open(dataset)
    scores = evaluate_model(
        fitted, opened, split, normalisation=znorm, denominator=ap_denominator, relevance=relevance, purpose=purpose
    )
    block = model_block(fitted, opened, scores)
    if as_json:
        typer.echo(json.dumps(block, indent=2, ensure_ascii=False))
    else:
        output_console().print(score_table(block, f"{fitted.registry_name} on {opened.name}, split {split}"))


def export(
    model: ModelFolder,
    onnx: Annotated[Path, typer.Option("--onnx", metavar="DIR", help="Folder of the exported model.")],
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="DATASET", help="Check on features of this dataset too.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing export.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a model as ONNX graphs, one per modality, that run without torch.

    Every graph is compared with the model. The folder is a model itself: `diptych index`, `evaluate` and `embed` accept
    it instead of the model.
    """
    from diptych.data import Dataset
    from diptych.export import export_model

    messages = Console(stderr=True)
    opened = Dataset.open(dataset) if dataset is not None else None
    with progress_on(messages) as display:
        exported = export_model(model, onnx, dataset=opened, overwrite=overwrite, progress=display)
    if as_json:
        typer.echo(json.dumps(exported.to_json(), indent=2, ensure_ascii=False))
        return
    for line in _report(exported):
        say(messages, line)


def _report(exported: Exported) -> list[str]:
    lines = [f"exported: {exported.folder}"]
    for name, graph in exported.graphs.items():
        size = f"{exported.sizes[name] / 1e6:.1f} MB, embeddings of {graph.width}"
        lines.append(f"{graph.file}: {size}; {_difference(exported.checks[name])}")
    lines += [f"pipeline/{name}.onnx: {_difference(check)}" for name, check in exported.encoders.items()]
    lines += [f"raw {name} items still need torch: {why}" for name, why in exported.needs_torch.items()]
    if exported.by_direction:
        lines.append("the method compares other embeddings in each direction; the graphs compute those of `embed`")
    return lines


def _difference(check: Check) -> str:
    rows = f"{check.rows} rows" + (f", {check.real} of the dataset" if check.real else "")
    text = f"differs from the model by at most {check.difference:.1e} over {rows}"
    if check.unsettled:
        text += f"; {check.unsettled} left out, where the model itself moves by more than {check.tolerance:.0e}"
    return text


def card(
    model: ModelFolder,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", metavar="DATASET", help="Score the model on this dataset.")
    ] = None,
    split: SplitOption = "test",
    index: Annotated[
        Path | None, typer.Option("--index", metavar="INDEX", help="Report the calibration of this index.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="CARD.md", help="File to write.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a model card, as Markdown or JSON."""
    from diptych._core.files import write_text
    from diptych.data import Dataset
    from diptych.export import model_card, render_card

    opened = Dataset.open(dataset) if dataset is not None else None
    content = model_card(model, dataset=opened, split=split, index=index)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n" if as_json else render_card(content)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    say(Console(stderr=True), f"card: {out}")


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

    Items are processed a few thousand at a time, so a large split needs no more memory than a small one. Only a
    modality of counts is read as a whole.
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
        str | None, typer.Option("--modality", help="Modality of the files, if their suffix does not show it.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="E.npy", help="File to write; names go to E.ids.json.")
    ] = None,
    purpose: PurposeOption = "auto",
    as_json: AsJson = False,
) -> None:
    """Embed image and text files with the model's own pipeline."""
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
