"""`diptych serve` and `diptych keys`: serve an index over HTTP with a search page, and manage the keys of a server."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from diptych._core.errors import ConfigError, DataError
from diptych.cli.console import output_console, say
from diptych.cli.options import AsJson, IndexFolder, ServerUrl


def serve(
    index: IndexFolder,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Number of server processes.")] = 1,
    read_key: Annotated[
        str | None,
        typer.Option(
            "--read-key",
            envvar="DIPTYCH_READ_KEY",
            show_envvar=True,
            help="Key that every request must send; none by default.",
        ),
    ] = None,
    write_key: Annotated[
        str | None,
        typer.Option(
            "--write-key",
            envvar="DIPTYCH_WRITE_KEY",
            show_envvar=True,
            help="Key for requests that change the index; without it they are refused.",
        ),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option(
            "--keys", metavar="FILE", help="File of named keys from `diptych keys`; all requests then need one."
        ),
    ] = None,
    public_read: Annotated[
        bool, typer.Option("--public-read", help="Allow searching without a key even with --keys.")
    ] = False,
    audit_log: Annotated[
        Path | None,
        typer.Option("--audit-log", metavar="FILE", help="File to append every change to, as JSON lines."),
    ] = None,
    snapshots: Annotated[
        Path | None, typer.Option("--snapshots", metavar="DIR", help="Folder for backups requested over HTTP.")
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option("--dataset", metavar="DATASET", help="Folder of the dataset for learning, if it was moved."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate chain (PEM), to serve HTTPS.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Private key of the certificate (PEM).")
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="N", help="Sustained requests per second allowed to one client.")
    ] = None,
    max_upload: Annotated[
        float, typer.Option("--max-upload", metavar="MB", help="Largest accepted image file.")
    ] = 20.0,
    max_pixels: Annotated[
        int, typer.Option("--max-pixels", min=1, help="Largest accepted image in pixels.")
    ] = 50_000_000,
    max_metadata: Annotated[
        float, typer.Option("--max-metadata", metavar="KB", help="Largest metadata of one item, as JSON.")
    ] = 64.0,
    max_items: Annotated[
        int | None, typer.Option("--max-items", min=1, help="Largest number of entries in the index.")
    ] = None,
    query_timeout: Annotated[
        float, typer.Option("--query-timeout", metavar="S", help="Seconds after which a query is cancelled.")
    ] = 30.0,
    lock_timeout: Annotated[
        float | None,
        typer.Option("--lock-timeout", metavar="S", help="Seconds that a change waits for others; 5 by default."),
    ] = None,
    trust_proxy: Annotated[
        str | None,
        typer.Option(
            "--trust-proxy",
            metavar="ADDRESSES",
            help="Proxies trusted to tell a request's origin, such as 127.0.0.1 or 10.0.0.0/8.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="Host name that a server without a read key answers to, besides its own; * for any. Repeatable.",
        ),
    ] = None,
    url: ServerUrl = None,
    shutdown: Annotated[
        float, typer.Option("--shutdown", metavar="S", help="Seconds for accepted requests to finish after Ctrl-C.")
    ] = 30.0,
) -> None:
    """Serve an index, with a search page and an HTTP API, until Ctrl-C.

    Pass keys in the environment rather than as options, which other users of the machine can see.
    """
    from diptych.index import URL_VARIABLE
    from diptych.up.folder import shown_address

    try:
        from diptych.serving import ServingSettings
        from diptych.serving.process import check_place, serve_index
    except ImportError as error:
        raise ConfigError(f'serving needs {error.name}; run `pip install "diptych[serve,search,images]"`.') from None
    settings = ServingSettings(
        read_key=read_key,
        write_key=write_key,
        rate_per_second=rate,
        max_upload_bytes=int(max_upload * 2**20),
        max_pixels=max_pixels,
        max_metadata_bytes=int(max_metadata * 2**10),
        max_items=max_items,
        query_timeout_s=query_timeout,
        lock_timeout_s=lock_timeout,
        keys_file=_path(keys),
        public_read=public_read,
        audit_log=_path(audit_log),
        snapshots=_path(snapshots),
        dataset=_path(dataset),
        tls_cert=_path(tls_cert),
        tls_key=_path(tls_key),
        trust_proxy=trust_proxy,
        allow_hosts=(host, *(allow_host or ())),
        shutdown_s=shutdown,
        workers=workers,
    )
    if url is not None:
        os.environ[URL_VARIABLE] = url  # for the workers too
    away = check_place(index, settings, host, port)
    messages = Console(stderr=True)
    if away is not None:
        say(messages, f"{away} Until then every search is answered with 503.")
    address = shown_address(host, port)
    if tls_cert is not None:
        address = address.replace("http://", "https://", 1)
    say(messages, f"serving {index} at {address} (stop with Ctrl-C)")
    if not _is_loopback(host) and read_key is None and (keys is None or public_read):
        say(messages, "anybody who can reach this machine may search; set --read-key or --keys to require a key.")
    serve_index(index, settings, host, port)


def _path(given: Path | None) -> str | None:
    return None if given is None else str(given.absolute())


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


Role = Literal["read", "write", "admin"]
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="File of keys, for `diptych serve --keys`.")]
KeyName = Annotated[str, typer.Argument(metavar="NAME", help="Who uses the key; written into the audit log.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Create and revoke the keys of a server, list and rotate them. A running server follows within a second.",
)


@app.command()
def add(
    file: KeyFile,
    name: KeyName,
    role: Annotated[
        Role, typer.Option("--role", help="What it allows: search (read), change items (write), backups (admin).")
    ] = "read",
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="N", help="Sustained requests per second allowed with this key.")
    ] = None,
) -> None:
    """Create a key and print it; it is not shown again."""
    from diptych.serving.keys import add_key

    secret = add_key(file, name, role, rate=rate)
    say(Console(stderr=True), f"{name} may {role}; store this key now, because the file contains only its digest:")
    typer.echo(secret)


@app.command("list")
def list_keys(file: KeyFile) -> None:
    """List the keys by name, without the keys themselves."""
    from diptych.serving.keys import read_keys

    table = Table("name", "role", "created", "requests/s")
    for key in read_keys(file):
        table.add_row(key.name, key.role, key.created, "" if key.rate is None else f"{key.rate:g}")
    output_console().print(table)


@app.command()
def rotate(file: KeyFile, name: KeyName) -> None:
    """Replace a key with a new one and print it; the old key becomes invalid at once."""
    from diptych.serving.keys import rotate_key

    typer.echo(rotate_key(file, name))


@app.command()
def revoke(file: KeyFile, name: KeyName) -> None:
    """Revoke a key; it becomes invalid at once."""
    from diptych.serving.keys import revoke_key

    revoke_key(file, name)
    say(Console(stderr=True), f"{name} is revoked")


def verify(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of an index, a model or a dataset.")],
    url: ServerUrl = None,
    as_json: AsJson = False,
) -> None:
    """Check an index, a model or a dataset against its checksums.

    The exit status is 0 if everything matches, 1 if something differs, and 2 if it cannot be checked.
    """
    kind, check = _kind_of(folder, url)
    problems = check()
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "kind": kind, "problems": problems}, indent=2))
    else:
        for problem in problems or [f"{folder}: the {kind} matches its checksums"]:
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
    """Write a consistent copy of an index to one file; searches continue, writers wait."""
    from diptych.search import backup_index

    written = backup_index(index, file)
    say(Console(stderr=True), f"backup: {written} ({written.stat().st_size / 1e6:,.1f} MB)")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `diptych backup` wrote.")],
    index: IndexFolder,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing index.")] = False,
) -> None:
    """Restore an index from a backup, after checking it against its checksums."""
    from diptych.search import restore_backup

    restore_backup(file, index, overwrite=overwrite)
    say(Console(stderr=True), f"index: {index}")
