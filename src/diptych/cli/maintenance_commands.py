"""`diptych verify`, `backup` and `restore`: check what was written, and keep an index in one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from diptych._core.errors import DataError
from diptych.cli.console import output_console, say
from diptych.cli.options import AsJson, IndexFolder, ServerUrl


def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of an index, a model or a dataset.")],
    url: ServerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Compare an index, a model or a dataset with its checksums.

    The exit status is 0 if everything is as it was written, 1 if something is not, and 2 if it cannot be checked.
    """
    kind, check = _kind_of(folder, url)
    problems = check()
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "kind": kind, "problems": problems}, indent=2))
    else:
        for problem in problems or [f"{folder}: the {kind} is as it was written"]:
            say(output_console(), problem)
    if problems:
        raise typer.Exit(1)


def _kind_of(folder: Path, url: str | None) -> tuple[str, Callable[[], list[str]]]:
    """What a folder holds, and how it is checked."""
    if (folder / "searcher.json").is_file():
        from diptych.search import verify_index

        return "index", lambda: verify_index(folder, url=url)
    if (folder / "dataset.json").is_file():
        return "dataset", lambda: _dataset_problems(folder)
    if (folder / "model.json").is_file():
        from diptych.methods.model_folder import model_problems

        return "model", lambda: model_problems(folder)
    raise DataError(f"{folder} holds no index, model or dataset; give the folder of one.")


def _dataset_problems(folder: Path) -> list[str]:
    from diptych.data import Dataset

    try:
        changed = Dataset.open(folder).changed_parts()
    except DataError as error:
        return [str(error)]
    return [f"{folder} is not as it was written: {', '.join(changed)} changed; import it again."] if changed else []


def backup(
    index: IndexFolder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as photos.tar.")],
) -> None:
    """Write an index into one file, as it is at one moment; searches continue, writers wait."""
    from diptych.search import backup_index

    written = backup_index(index, file)
    say(Console(stderr=True), f"backup: {written} ({written.stat().st_size / 1e6:,.1f} MB)")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `diptych backup` wrote.")],
    index: IndexFolder,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing index.")] = False,
) -> None:
    """Make an index of a backup; it appears when it is whole and was compared with its checksums."""
    from diptych.search import restore_backup

    restore_backup(file, index, overwrite=overwrite)
    say(Console(stderr=True), f"index: {index}")
