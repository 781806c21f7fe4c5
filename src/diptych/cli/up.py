"""`diptych up`: from files to a running search with one command."""

import json
import os
import sys
import webbrowser
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from diptych._core.errors import ConfigError, DataError
from diptych._core.processes import usable_cores
from diptych.cli.saying import say
from diptych.cli.up_display import FollowDisplay, UpDisplay, show_check, show_source
from diptych.ingest import IngestOptions
from diptych.search import Searcher
from diptych.up import (
    Follower,
    HttpClient,
    SearchFolder,
    check_search,
    long_commands,
    make_ready,
    read_source,
    search_folder,
    source_name,
)
from diptych.up.http_client import shown_address

READ_KEY, WRITE_KEY = "DIPTYCH_READ_KEY", "DIPTYCH_WRITE_KEY"


def up(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="CSV, TSV, JSON lines, Parquet, a folder of images, or an archive."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="For everything that is made; NAME-search by default."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep the index in step with the files.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Ask the search a few questions and exit: status 0 if all is well, else 1.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome of --check as JSON.")] = False,
    host: Annotated[str, typer.Option("--host", help="Listen here; 0.0.0.0 for all of the network.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Listen at this port, or another if it is taken.")
    ] = 8000,
    open_page: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in a browser where there is a display.")
    ] = True,
) -> None:
    """Look at files, learn to search them and open the search; run again to go on or to take in what is new.

    Nothing is asked. Everything is kept in one folder, and only what is not done yet is done: killed at any moment, the
    same command goes on; after files were added, changed or deleted it brings these into the index.
    """
    if as_json and not check:
        raise ConfigError("--json prints the outcome of --check; give both.")
    if watch and check:
        raise ConfigError("--check ends the search and --watch keeps it running; give one of them.")
    bring_up(path, search_folder(path, out), Wanted(host, port, watch, check, as_json, open_page))


@dataclass(frozen=True)
class Wanted:
    """How a search is to be served.

    Attributes:
        host: where to listen.
        port: where to listen, if it can be had.
        watch: whether the index is kept in step with the files.
        check: whether it is asked a few questions and ended.
        as_json: whether the outcome is printed as JSON.
        open_page: whether the page is opened in a browser, where there is one.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    watch: bool = False
    check: bool = False
    as_json: bool = False
    open_page: bool = True


def bring_up(path: Path, folder: SearchFolder, wanted: Wanted, *, name: str | None = None) -> None:
    """Make what is missing of a search, then serve or check it; an interrupt ends with one line and status 130.

    Args:
        path: the table, folder or archive.
        folder: where everything is kept.
        wanted: how it is served.
        name: what to call the data; the path's name by default.
    """
    messages = Console(stderr=True)
    _check_packages()
    options = IngestOptions(
        pairs=path,
        out=folder.dataset,
        name=name or source_name(path),
        overwrite=True,
    )
    try:
        source = read_source(options)
        with folder.claimed() as mine:
            if not mine:
                _join_running(folder, wanted, messages)
                return
            show_source(source, messages)
            make_ready(folder, source, options, UpDisplay(messages, folder), workers=usable_cores())
            _run(folder, options, wanted, messages)
    except KeyboardInterrupt:
        say(messages, "stopped; the same command goes on from here.")
        raise typer.Exit(130) from None


def _run(folder: SearchFolder, options: IngestOptions, wanted: Wanted, messages: Console) -> None:
    """Serve what is ready, until Ctrl-C or until it is checked."""
    from diptych.serving import ServingSettings
    from diptych.up.serving import Server, listening, serve, served

    settings = ServingSettings(
        read_key=os.environ.get(READ_KEY), write_key=os.environ.get(WRITE_KEY), allow_hosts=(wanted.host,)
    )
    listener = listening(wanted.host, wanted.port)
    searcher = Searcher.open(folder.index, writable=wanted.watch or settings.write_key is not None)
    searcher.warm()
    server = Server(searcher, settings)
    port = int(listener.getsockname()[1])
    address = shown_address(wanted.host, port)
    if wanted.check:
        with served(server, listener):
            passed = _check(address, folder, wanted, messages)
        if not passed:
            raise typer.Exit(1)
        return
    say(messages, "this was short for:")
    for line in long_commands(folder, options, wanted.host, port):
        say(messages, f"  {line}")
    if port != wanted.port:
        say(messages, f"port {wanted.port} is taken, so another was chosen")

    def ready() -> None:
        say(messages, f"search at {address} (stop with Ctrl-C)")
        if wanted.open_page:
            _open(address)
        if wanted.watch:
            say(messages, f"watching {options.pairs}")
            read = partial(read_source, options)
            Follower(folder, read, server.index, server.ending, FollowDisplay(messages)).follow(read())

    try:
        with folder.announced(address):
            serve(server, listener, ready)
    except KeyboardInterrupt:
        pass
    say(messages, "stopped; the same command starts the search again.")


def _join_running(folder: SearchFolder, wanted: Wanted, messages: Console) -> None:
    """Use the search that another process serves."""
    address = folder.address()
    if address is None:
        raise DataError(f"another `diptych up` is at work in {folder.path}; wait for it, or choose another --out.")
    if wanted.check:
        if not _check(address, folder, wanted, messages):
            raise typer.Exit(1)
        return
    say(messages, f"the search is running already, at {address}")
    if wanted.open_page:
        _open(address)


def _check(address: str, folder: SearchFolder, wanted: Wanted, messages: Console) -> bool:
    """Ask a running search a few questions; whether all answers were right."""
    say(messages, f"asking {address}")
    checks = []
    for checked in check_search(HttpClient(address, os.environ.get(READ_KEY))):
        checks.append(checked)
        show_check(checked, messages)
    passed = all(checked.passed is not False for checked in checks)
    if wanted.as_json:
        outcome = {"passed": passed, "address": address, "folder": str(folder.path)}
        typer.echo(json.dumps(outcome | {"checks": [checked.to_json() for checked in checks]}, ensure_ascii=False))
    say(messages, "all is well" if passed else "something is wrong")
    return passed


def _open(address: str) -> None:
    """Open the page, where a person sits before a display."""
    shown = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if shown and sys.stdout.isatty():
        webbrowser.open(address)


def _check_packages() -> None:
    """Say before minutes of work what cannot be served after them."""
    try:
        import diptych.serving  # noqa: F401
    except ImportError as error:
        raise ConfigError(f'serving needs {error.name}; run `pip install "diptych[serve,search,images]"`.') from None
