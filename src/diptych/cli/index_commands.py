"""`diptych index`, `add`, `remove` and `reliability`: build an index, change it, and check its probabilities."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from diptych._core.errors import ConfigError, DataError
from diptych.cli.console import output_console, progress_on, resumable, say
from diptych.cli.options import (
    AsJson,
    ClusterAddress,
    DatasetFolder,
    IndexFolder,
    ModelFolder,
    Purpose,
    Seed,
    ServerUrl,
    cluster_executor,
    split_settings,
)

if TYPE_CHECKING:
    from diptych.search import Built, Calibration, NewItem

_TEXT_ENDINGS = (".txt", ".text", ".md")

Projection = Literal["auto", "tsne", "pca", "none"]


def index(
    model: ModelFolder,
    dataset: DatasetFolder,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="INDEX", help="Folder of the new index.")],
    engine: Annotated[str, typer.Option("--engine", help="The vector store: local, pgvector or milvus.")] = "local",
    url: ServerUrl = None,
    engine_options: Annotated[
        list[str] | None,
        typer.Option("--engine-option", metavar="NAME=VALUE", help="Set an option of the engine; repeatable."),
    ] = None,
    bits: Annotated[
        int | None,
        typer.Option(
            "--bits",
            metavar="N",
            help="Search by binary codes of N bits, re-ranked by the vectors, in a fraction of the memory; 0 for none. "
            "By default as the model was fitted.",
        ),
    ] = None,
    purpose: Annotated[
        Purpose,
        typer.Option(
            "--purpose",
            help="The embedding spaces to index, if the model has several: items of the same kind (class), the "
            "item's own partner (partner), or both; auto takes all.",
        ),
    ] = "auto",
    projection: Annotated[Projection, typer.Option("--projection", help="Layout of the explore view.")] = "auto",
    thumbnails: Annotated[bool, typer.Option(help="Store thumbnails of the images.")] = True,
    keep_originals: Annotated[
        bool, typer.Option("--keep-originals", help="Store the images themselves, so that the index can be moved.")
    ] = False,
    seed: Seed = 0,
    cluster: ClusterAddress = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing index, which may be served meanwhile.")
    ] = False,
    discard_changes: Annotated[
        bool,
        typer.Option("--discard-changes", help="Discard changes made since that index was built."),
    ] = False,
) -> None:
    """Embed every item of a dataset and build a search index.

    The same command continues an interrupted run.
    """
    from diptych.data import Dataset
    from diptych.search import build_index

    messages = Console(stderr=True)
    with resumable(messages), cluster_executor(cluster) as executor, progress_on(messages) as display:
        built = build_index(
            model,
            Dataset.open(dataset),
            out,
            engine=engine,
            url=url,
            engine_options=split_settings(engine_options or [], "--engine-option"),
            bits=bits,
            purpose=purpose,
            projection=projection,
            thumbnails=thumbnails,
            keep_originals=keep_originals,
            overwrite=overwrite,
            keep_changes=not discard_changes,
            seed=seed,
            executor=executor,
            progress=display,
        )
    for line in _describe(built, out):
        say(messages, line)


def _describe(built: Built, out: Path) -> list[str]:
    """Say what was built, and how far its probabilities can be trusted."""
    entries = ", ".join(f"{count:,} {name}" for name, count in built.entries.items())
    lines = [f"index: {out} ({entries}; {built.images:,} thumbnails) in {built.seconds:.1f} s"]
    if built.resumed:
        lines.insert(0, "continued from an earlier run")
    if built.taken_over:
        lines.append(f"{built.taken_over:,} changes of the replaced index are kept")
    if built.without_direction:
        lines.append(f"{built.without_direction:,} items have a zero embedding and are left out")
    if built.purposes:
        lines.append(f"purposes: {', '.join(built.purposes)}")
    if not built.calibration.maps:
        lines.append("no probabilities: the dataset has no validation pairs to learn them from")
    for calibration in built.calibration.each():
        asked = f" for {calibration.purpose}" if calibration.purpose else ""
        for (query, gallery), known in calibration.facts.items():
            if "test" in known:
                error = known["test"]["top_10"]["error"]
                way = f"{query} → {gallery}{asked}"
                lines.append(f"probabilities {way}: off by {error:.3f} on average in the top 10 of the index")
    for calibration in built.calibration.each():
        facts = calibration.documents.facts
        if "test" in facts:
            error = facts["test"]["top_10"]["error"]
            asked = f" for {calibration.purpose}" if calibration.purpose else ""
            lines.append(
                f"probabilities typed text → items{asked}: off by {error:.3f} on average in the top 10 of the index"
            )
    return lines


def add(
    index: IndexFolder,
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="Image and text files.")] = None,
    text: Annotated[list[str] | None, typer.Option("--text", "-t", help="A text; repeatable.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="The id of a single item; a file's name by default.")] = None,
    label: Annotated[list[str] | None, typer.Option("--label", help="A label; repeatable.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Further metadata; repeatable.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace items of the same id.")] = False,
    url: ServerUrl = None,
) -> None:
    """Add images, sounds and texts to an index; they can be found at once."""
    from diptych.search import NewItem, Searcher

    metadata: dict[str, Any] = dict(split_settings(settings or []))
    if label:
        metadata["label"] = label[0] if len(label) == 1 else label
    items = [_from_file(path, metadata) for path in files or []]
    items += [NewItem(_text_id(each), "text", each, metadata) for each in text or []]
    if not items:
        raise ConfigError("there is nothing to add; give files, or texts with --text.")
    if id is not None:
        if len(items) > 1:
            raise ConfigError(f"--id names one item, and there are {len(items)}; add them one by one.")
        items = [NewItem(id, items[0].kind, items[0].value, metadata)]
    with Searcher.open(index, writable=True, url=url) as searcher:
        done = searcher.add(items, replace=replace)
    typer.echo(f"{done} added: {', '.join(item.id for item in items)}", err=True)


def _text_id(text: str) -> str:
    from diptych.search import entry_id

    return entry_id("text", hashlib.blake2b(text.encode(), digest_size=6).hexdigest())


def _from_file(path: Path, metadata: dict[str, Any]) -> NewItem:
    from diptych.media import kind_of_name
    from diptych.search import NewItem, entry_id

    if path.suffix.lower() not in _TEXT_ENDINGS:
        kind = kind_of_name(path.name) or "image"
        return NewItem(entry_id(kind, path.name), kind, path, metadata)
    try:
        return NewItem(entry_id("text", path.name), "text", path.read_text(encoding="utf-8-sig"), metadata)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a text file.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error}); save it as UTF-8.") from None


def remove(
    index: IndexFolder,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids as search results show them.")],
    url: ServerUrl = None,
) -> None:
    """Remove items from an index at once."""
    from diptych.search import Searcher

    with Searcher.open(index, writable=True, url=url) as searcher:
        distinct = list(dict.fromkeys(ids))
        done = searcher.remove(distinct)
    missing = f", {len(distinct) - done} not there" if done < len(distinct) else ""
    typer.echo(f"{done} removed{missing}", err=True)


def reliability(
    index: IndexFolder,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw the calibration curves into a .svg or .png file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how well an index's probabilities match what was observed on its test items."""
    from diptych._core.rendering import drawing_style, save_drawing
    from diptych.search.index_folder import CALIBRATION_FILE
    from diptych.search.probability.calibration import read_calibration
    from diptych.search.probability.reliability import draw_reliability

    calibration = read_calibration(index / CALIBRATION_FILE)
    if not any("test" in facts for each in calibration.each() for facts in each.facts.values()):
        raise DataError(
            f"{index} holds no measured probabilities; `diptych index` needs labelled or paired validation and test "
            "items to measure them."
        )
    if plot is not None:
        with drawing_style():
            save_drawing(draw_reliability(calibration), plot)
        say(Console(stderr=True), f"plot: {plot}")
    if as_json:
        typer.echo(json.dumps(calibration.to_json(), indent=2, ensure_ascii=False))
    else:
        output_console().print(_table(calibration))


def _table(calibration: Calibration) -> Table:
    from diptych.search.probability.reliability import TOP

    table = Table(
        title="expected calibration error",
        caption=f"{_galleries(calibration)}; {_relevance(calibration)}",
    )
    if calibration.purpose is not None:
        table.add_column("purpose")
    for heading in ("query → gallery", "all pairs", f"top {TOP}", "validation pairs", "of them relevant"):
        table.add_column(heading, justify="left" if heading.startswith("query") else "right")
    for each in calibration.each():
        for (query, gallery), facts in each.facts.items():
            test = facts.get("test")
            errors = [f"{test[key]['error']:.3f}" if test else "–" for key in ("all_pairs", f"top_{TOP}")]
            counts = f"{facts['pairs']:,}", f"{facts['relevant_share']:.3f}"
            purpose = [] if each.purpose is None else [each.purpose]
            table.add_row(*purpose, f"{query} → {gallery}", *errors, *counts)
    return table


def _galleries(calibration: Calibration) -> str:
    """Which entries were searched by test items to measure the probabilities."""
    sizes = {
        facts["test"].get("gallery") for each in calibration.each() for facts in each.facts.values() if "test" in facts
    }
    if None in sizes:
        return "test items among themselves (measured by an earlier version; rebuild the index to measure all of it)"
    told = " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)}))
    return f"queries of test items in the whole index ({told} entries of a modality)"


def _relevance(calibration: Calibration) -> str:
    """What makes two items relevant to each other, for each purpose."""
    means = {"label": "share a class", "document": "belong to one document"}
    if not calibration.others:
        return f"two items are relevant to each other if they {means[calibration.relevance]}"
    told = "; ".join(f"{each.purpose}: {means[each.relevance]}" for each in calibration.each())
    return f"two items are relevant to each other if they (by purpose) {told}"
