"""`diptych teach`: answer questions about the items of an index, see the answers spread, and learn from them."""

from __future__ import annotations

import getpass
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from diptych._core.errors import ConfigError, DataError
from diptych.cli.console import output_console, progress_on, resumable, say
from diptych.cli.options import AsJson, IndexFolder, ServerUrl

if TYPE_CHECKING:
    from diptych.teach import ModelRecord, Status, TaughtItem, Teacher

_SKIP, _NONE, _UNDO, _QUIT = "", "-", "u", "q"
_KEYS = "a class or its number, Enter to skip, - for none of them, u to undo, q to quit"
_LONGEST_SHOWN = 400


def teach(
    index: IndexFolder,
    answers: Annotated[
        Path | None,
        typer.Option("--answers", metavar="FILE", help="Take the answers from a CSV file with item and label."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write all answers to a CSV file and exit.")
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Fit a model on the answers and switch to its index, without asking.")
    ] = False,
    dataset: Annotated[
        Path | None,
        typer.Option("--dataset", metavar="DATASET", help="Folder of the dataset of the index, if it was moved."),
    ] = None,
    models: Annotated[
        bool, typer.Option("--models", help="List the models the index was built with and exit.")
    ] = False,
    activate: Annotated[
        str | None, typer.Option("--activate", metavar="MODEL", help="Go back to an earlier model and exit.")
    ] = None,
    url: ServerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Label items, propagate the labels to the others, and learn a model from them.

    Answers are stored with the index, with their author and time. The index may be served meanwhile: answers take
    effect there at once, and --learn and --activate switch the index without losing a request or a change.
    """
    from diptych.search import Searcher
    from diptych.teach import Models, Teacher

    if models or activate is not None:
        if activate is not None:
            Models(index).activate(activate, url=url)
        _show_models(Models(index), as_json)
        return
    said: dict[str, Any] = {}
    with Searcher.open(index, url=url) as searcher:
        teacher = Teacher(searcher)
        try:
            if export is not None:
                _write(export, teacher.export_csv())
                return
            if answers is not None:
                said["imported"] = _import(teacher, answers)
            elif not learn and not as_json:
                _ask(teacher)
            status = teacher.status()
        finally:
            teacher.close()
    said["status"] = asdict(status)
    if learn:
        said["model"] = asdict(_learn(index, dataset, url))
    if as_json:
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
    else:
        _show(status)


def _write(file: Path, table: str) -> None:
    from diptych._core.files import explained_writes, write_text

    with explained_writes(file, "try again"):
        write_text(file, table)
    say(Console(stderr=True), f"labels: {file} ({len(table.splitlines()) - 1:,} answers)")


def _import(teacher: Teacher, file: Path) -> dict[str, Any]:
    try:
        table = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{file} cannot be read ({error.strerror}); give a CSV file.") from None
    except UnicodeDecodeError:
        raise DataError(f"{file} is not written in UTF-8; save it as such.") from None
    count, unknown, problems = teacher.import_csv(table, who=_user())
    messages = Console(stderr=True)
    for problem in problems:
        say(messages, f"{file}, line {problem.line}: {problem.message}")
    say(messages, f"{count:,} answers read, {unknown:,} of items that are not in the index")
    return {"count": count, "unknown": unknown, "problems": [asdict(problem) for problem in problems]}


def _ask(teacher: Teacher) -> None:
    """Ask until there is nothing to ask, or the person has enough."""
    console, last = output_console(), None
    say(console, _KEYS)
    while asked := teacher.next(1):
        one, status = asked[0], teacher.status()
        classes = [count.label for count in status.classes]
        _show_question(console, one, status)
        typed = typer.prompt("class", default="", show_default=False).strip()
        if typed == _QUIT:
            return
        if typed == _UNDO:
            if last is not None:
                teacher.forget([last], who=_user())
            continue
        if typed.isdecimal() and not 1 <= int(typed) <= len(classes):
            say(console, f"there is no class {typed}; {_KEYS}")
            continue
        last = one.hit.item
        if typed in (_SKIP, _NONE):
            teacher.answer([last], None, who=_user(), answer="skip" if typed == _SKIP else "none")
        else:
            teacher.answer([last], classes[int(typed) - 1] if typed.isdecimal() else typed, who=_user())
    say(console, "there are no more questions.")


def _show_question(console: Console, one: TaughtItem, status: Status) -> None:
    numbers = ", ".join(f"{place} {count.label}" for place, count in enumerate(status.classes, 1))
    guess = f", looks like {one.guess} ({one.certainty:.0%})" if one.guess else ""
    near = f" of a cluster of {one.cluster_size:,}" if one.reason == "cluster" else ""
    say(console, f"\n{status.answered:,} answered, {status.spread:,} of {status.items:,} items reached. {numbers}")
    say(console, f"{one.hit.item}{near}{guess}")
    if text := one.hit.metadata.get("text"):
        say(console, str(text)[:_LONGEST_SHOWN])


def _show(status: Status) -> None:
    console = output_console()
    table = Table("class", "taught", "spread", "certain")
    for count in status.classes:
        table.add_row(count.label, f"{count.taught:,}", f"{count.spread:,}", f"{count.certain:,}")
    if status.classes:
        console.print(table)
    found = status.held_out
    expected = "unknown until a class has two answers"
    if found is not None:
        low, high = found.interval
        expected = f"{found.accuracy:.0%} (95 % between {low:.0%} and {high:.0%}; {found.answers} answers held out)"
    say(console, f"{status.answered:,} answered, {status.uncertain:,} uncertain, {status.unreached:,} not reached")
    say(console, f"expected accuracy: {expected}")


def _learn(index: Path, dataset: Path | None, url: str | None) -> ModelRecord:
    from diptych.teach import learn

    messages = Console(stderr=True)
    with resumable(messages), progress_on(messages) as display:
        record = learn(index, dataset=dataset, url=url, progress=display)
    say(messages, f"model {record.id} ({record.method}) learned and activated after {record.seconds:.0f} s")
    return record


def _show_models(models: Any, as_json: bool) -> None:  # noqa: ANN401 - imported when it is used
    active = models.active().id
    rows = [asdict(one) | {"active": one.id == active, "kept": models.is_kept(one.id)} for one in models.all()]
    if as_json:
        typer.echo(json.dumps({"models": rows}, indent=2))
        return
    table = Table("model", "in force", "kept", "created", "method", "answers", "classes", "propagated")
    for row in rows:
        marks = ("yes" if row[name] else "" for name in ("active", "kept"))
        counts = (f"{row[name]:,}" for name in ("answers", "classes", "propagated"))
        table.add_row(row["id"], *marks, row["created"], row["method"], *counts)
    output_console().print(table)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:
        raise ConfigError(f"the name of this user is unknown ({error}); set the variable USER.") from None
