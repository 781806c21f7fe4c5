"""`diptych up`: from files to a running search with one command."""

from __future__ import annotations

import json
import os
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from diptych._core.errors import ConfigError, DataError
from diptych._core.progress import Progress, show_seconds
from diptych.cli.console import progress_on, resumable, say
from diptych.cli.ingest_command import show_understanding

if TYPE_CHECKING:
    from diptych.ingest import Ingested, IngestOptions, Problem
    from diptych.methods import Method
    from diptych.search import Built
    from diptych.up import Changes, Checked, SearchFolder, Source

_SHOWN_PROBLEMS = 5
_STEPS = {"features": "1/3 features", "model": "2/3 model", "index": "3/3 index"}


class UpDisplay:
    """Print every step of `diptych up`."""

    def __init__(self, console: Console, folder: SearchFolder) -> None:
        self._console, self._folder = console, folder
        self._problems = 0

    @contextmanager
    def step(self, name: str, why: str) -> Iterator[Progress]:
        """Print that a step begins, and show its progress."""
        say(self._console, _STEPS[name] + (f" ({why})" if why else ""))
        with progress_on(self._console) as display:
            yield display

    def kept(self, what: str) -> None:
        """Print that something was made before and is kept."""
        say(self._console, f"{what}: kept from before")

    def ingested(self, made: Ingested) -> None:
        """Print what the dataset holds and what could not be read."""
        counts = ", ".join(f"{count:,} with {name}" for name, count in made.report.with_modality.items())
        reused = ", ".join(f"{count:,} {name} rows" for name, count in made.reused.items() if count)
        say(self._console, f"{made.report.items:,} items, {counts}" + (f"; {reused} reused" if reused else ""))
        broken = made.report.count("picture")
        for problem in made.report.problems[:_SHOWN_PROBLEMS]:
            say(self._console, f"  {problem}")
        if len(made.report.problems) > _SHOWN_PROBLEMS:
            file = self._folder.dataset / "ingest-report.json"
            say(self._console, f"  … and {len(made.report.problems) - _SHOWN_PROBLEMS:,} more, all in {file}")
        if broken:
            say(self._console, f"{broken:,} files are missing or broken; their texts can still be found")

    def fitted(self, model: Method) -> None:
        """Print how long the fit took, and why this method."""
        why = model.record_.get("auto", {}).get("why")
        seconds = show_seconds(model.record_["fit_seconds"])
        say(self._console, f"fitted in {seconds}: {why or model.saved_as.registry_name}")

    def indexed(self, built: Built) -> None:
        """Print what the index holds."""
        entries = " and ".join(f"{count:,} {name}s" for name, count in built.entries.items())
        say(self._console, f"the index holds {entries}, built in {show_seconds(built.seconds)}")
        if built.without_direction:
            say(self._console, f"{built.without_direction:,} with a zero embedding are left out")

    def synced(self, changes: Changes) -> None:
        """Print what changed in the index."""
        say(self._console, f"the index is in sync with the files: {changes}")
        if self._problems > _SHOWN_PROBLEMS:
            say(self._console, f"  … and {self._problems - _SHOWN_PROBLEMS:,} more that cannot be added")

    def problem(self, problem: Problem) -> None:
        """Print that an item, or one modality of it, could not be added."""
        self._problems += 1
        if self._problems <= _SHOWN_PROBLEMS:
            say(self._console, f"  {problem}")


def show_source(source: Source, console: Console) -> None:
    """Print how the source was understood, and why."""
    from diptych.ingest import understanding_of

    say(console, str(source.path))
    show_understanding(understanding_of(source.plan), console)


def show_check(checked: Checked, console: Console) -> None:
    """Print the result of one check."""
    mark = {True: "✓", False: "✗", None: "–"}[checked.passed]
    asked = checked.asked if len(checked.asked) <= 60 else checked.asked[:59] + "…"
    say(console, f"  {mark} {checked.name}{f' ({asked})' if asked else ''}: {checked.said}")


READ_KEY, WRITE_KEY = "DIPTYCH_READ_KEY", "DIPTYCH_WRITE_KEY"


def up(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="CSV, TSV, JSON lines or Parquet table, folder of images, or archive."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for all results; NAME-search by default."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep the index in sync with the files.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Send test queries to the search and exit: status 0 if all pass, else 1.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result of --check as JSON.")] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Port to listen on, or another if it is taken.")
    ] = 8000,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser, if there is a display.")
    ] = True,
) -> None:
    """Make files searchable and serve the search, in one command; run again to continue or to update.

    Everything is kept in one folder, and only missing steps are run. After an interruption the same command continues;
    after files were added, changed or deleted it updates the index.
    """
    from diptych.up import search_folder

    if as_json and not check:
        raise ConfigError("--json prints the result of --check; give both.")
    if watch and check:
        raise ConfigError("--check ends the search and --watch keeps it running; give one of them.")
    bring_up(path, search_folder(path, out), ServeOptions(host, port, watch, check, as_json, open_page))


@dataclass(frozen=True)
class ServeOptions:
    """How a search is to be served.

    Attributes:
        host: where to listen.
        port: where to listen, if it can be had.
        watch: whether the index is kept in sync with the files.
        check: whether test queries are sent to it before it ends.
        as_json: whether the result of the check is printed as JSON.
        open_page: whether the page is opened in a browser, where there is one.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    watch: bool = False
    check: bool = False
    as_json: bool = False
    open_page: bool = True


def bring_up(path: Path, folder: SearchFolder, options: ServeOptions, *, name: str | None = None) -> None:
    """Make what is missing of a search, then serve or check it; an interrupt ends with status 130.

    Args:
        path: the table, folder or archive.
        folder: where everything is kept.
        options: how it is served.
        name: what to call the data; the path's name by default.
    """
    from diptych._core.processes import usable_cores
    from diptych.ingest import IngestOptions
    from diptych.up import make_ready, read_source, source_name

    messages = Console(stderr=True)
    _check_packages()
    ingest = IngestOptions(
        pairs=path,
        out=folder.dataset,
        name=name or source_name(path),
        overwrite=True,
    )
    with resumable(messages):
        source = read_source(ingest)
        with folder.claimed() as mine:
            if not mine:
                _join_running(folder, options, messages)
                return
            show_source(source, messages)
            make_ready(folder, source, ingest, UpDisplay(messages, folder), workers=usable_cores())
            _run(folder, ingest, options, messages)


def _run(folder: SearchFolder, ingest: IngestOptions, options: ServeOptions, messages: Console) -> None:
    """Serve what is ready, until Ctrl-C or until it is checked."""
    from diptych.search import Searcher
    from diptych.serving import ServingSettings
    from diptych.serving.process import Server, listening, serve, served
    from diptych.up import Follower, long_commands, read_source
    from diptych.up.folder import shown_address

    settings = ServingSettings(
        read_key=os.environ.get(READ_KEY), write_key=os.environ.get(WRITE_KEY), allow_hosts=(options.host,)
    )
    listener = listening(options.host, options.port)
    searcher = Searcher.open(folder.index, writable=options.watch or settings.write_key is not None)
    searcher.warm()
    server = Server(searcher, settings)
    port = int(listener.getsockname()[1])
    address = shown_address(options.host, port)
    if options.check:
        with served(server, listener):
            passed = _check(address, folder, options, messages)
        if not passed:
            raise typer.Exit(1)
        return
    say(messages, "this command is short for:")
    for line in long_commands(folder, ingest, options.host, port):
        say(messages, f"  {line}")
    if port != options.port:
        say(messages, f"port {options.port} is taken, so another was chosen")

    def ready() -> None:
        say(messages, f"search at {address} (stop with Ctrl-C)")
        if options.open_page:
            _open(address)
        if options.watch:
            say(messages, f"watching {ingest.pairs}")
            read = partial(read_source, ingest)
            Follower(folder, read, server.index, server.ending, with_time).follow(read())

    def with_time(sentence: str) -> None:
        say(messages, f"{time.strftime('%H:%M:%S')} {sentence}")

    try:
        with folder.announced(address):
            serve(server, listener, ready)
    except KeyboardInterrupt:
        pass
    say(messages, "stopped; run the same command to start the search again.")


def _join_running(folder: SearchFolder, options: ServeOptions, messages: Console) -> None:
    """Use the search that another process serves."""
    address = folder.address()
    if address is None:
        raise DataError(f"another `diptych up` is at work in {folder.path}; wait for it, or choose another --out.")
    if options.check:
        if not _check(address, folder, options, messages):
            raise typer.Exit(1)
        return
    say(messages, f"the search is running already, at {address}")
    if options.open_page:
        _open(address)


def _check(address: str, folder: SearchFolder, options: ServeOptions, messages: Console) -> bool:
    """Send test queries to a running search; return whether all checks passed."""
    from diptych.up import HttpClient, check_search

    say(messages, f"sending test queries to {address}")
    checks = []
    for checked in check_search(HttpClient(address, os.environ.get(READ_KEY))):
        checks.append(checked)
        show_check(checked, messages)
    passed = all(checked.passed is not False for checked in checks)
    if options.as_json:
        outcome = {"passed": passed, "address": address, "folder": str(folder.path)}
        typer.echo(json.dumps(outcome | {"checks": [checked.to_json() for checked in checks]}, ensure_ascii=False))
    say(messages, "all checks passed" if passed else "a check failed")
    return passed


def _open(address: str) -> None:
    """Open the page in a browser, where there is a display and a terminal."""
    shown = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if shown and sys.stdout.isatty():
        webbrowser.open(address)


def _check_packages() -> None:
    """Name missing packages before minutes of work rather than after them."""
    try:
        import diptych.serving.app  # noqa: F401
    except ImportError as error:
        raise ConfigError(f'serving needs {error.name}; run `pip install "diptych[serve,search,images]"`.') from None
