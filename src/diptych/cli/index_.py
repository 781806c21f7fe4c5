"""`diptych index`: make a dataset searchable by a model."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from diptych.cli.options import DatasetFolder, ModelFolder
from diptych.cli.saying import say
from diptych.cli.work_display import work_display_for
from diptych.data import Dataset
from diptych.methods.purposes import Purpose
from diptych.search import Built, build_index
from diptych.search.projection import ProjectionChoice


def index(
    model: ModelFolder,
    dataset: DatasetFolder,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="INDEX", help="The folder to make.")],
    engine: Annotated[str, typer.Option("--engine", help="What keeps the vectors.")] = "local",
    url: Annotated[str | None, typer.Option("--url", help="The server that keeps the vectors, if one does.")] = None,
    purpose: Annotated[
        Purpose,
        typer.Option(
            "--purpose",
            help="What can be searched for, where the model has several spaces: things of a kind (class), the very "
            "item (partner), or both; auto takes all the model has.",
        ),
    ] = "auto",
    projection: Annotated[
        ProjectionChoice, typer.Option("--projection", help="How the explore view is laid out.")
    ] = "auto",
    thumbnails: Annotated[bool, typer.Option(help="Keep small copies of the images.")] = True,
    keep_originals: Annotated[
        bool, typer.Option("--keep-originals", help="Keep the images as they are, so that the index can be moved.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides everything that is drawn.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an index that is already there.")] = False,
) -> None:
    """Embed every item of a dataset and build the index to search.

    An interrupted run is taken up by the same command.
    """
    messages = Console(stderr=True)
    try:
        with work_display_for(messages) as display:
            built = build_index(
                model,
                Dataset.open(dataset),
                out,
                engine=engine,
                url=url,
                purpose=purpose,
                projection=projection,
                thumbnails=thumbnails,
                keep_originals=keep_originals,
                overwrite=overwrite,
                seed=seed,
                progress=display,
            )
    except KeyboardInterrupt:
        messages.print("stopped; the same command goes on from here.")
        raise typer.Exit(130) from None
    tell_built(built, out, messages)


def tell_built(built: Built, out: Path, messages: Console) -> None:
    """Say what was built, and how far its probabilities can be trusted."""
    entries = ", ".join(f"{count:,} {name}" for name, count in built.entries.items())
    words = [f"index: {out} ({entries}; {built.images:,} thumbnails) in {built.seconds:.1f} s"]
    if built.resumed:
        words.insert(0, "earlier work was taken up")
    if built.without_direction:
        words.append(f"{built.without_direction:,} items have no direction in the model's space and are left out")
    if built.purposes:
        words.append(f"purposes: {', '.join(built.purposes)}")
    if not built.calibration.maps:
        words.append("no probabilities: the dataset has no validation pairs to learn them from")
    for calibration in built.calibration.each():
        asked = f" for {calibration.purpose}" if calibration.purpose else ""
        for (query, gallery), known in calibration.facts.items():
            if "test" in known:
                error = known["test"]["top_10"]["error"]
                way = f"{query} → {gallery}{asked}"
                words.append(f"probabilities {way}: off by {error:.3f} on average in the top 10 of test items")
    for calibration in built.calibration.each():
        facts = calibration.documents.facts
        if "test" in facts:
            error = facts["test"]["top_10"]["error"]
            asked = f" for {calibration.purpose}" if calibration.purpose else ""
            words.append(f"probabilities typed words → items{asked}: off by {error:.3f} on average in the top 10")
    for line in words:
        say(messages, line)
