"""`diptych serve`: an index over HTTP, with a page."""

import ipaddress
import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from diptych._core.errors import ConfigError
from diptych.cli.saying import say
from diptych.cli.search import ServerUrl
from diptych.search.engine_location import URL_VARIABLE
from diptych.up.http_client import shown_address


def serve(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="An index's folder, made by `diptych index`.")],
    host: Annotated[str, typer.Option("--host", help="Listen here; 0.0.0.0 for all of the network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Listen at this port.")] = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes that share the port.")] = 1,
    read_key: Annotated[
        str | None,
        typer.Option("--read-key", envvar="DIPTYCH_READ_KEY", show_envvar=True, help="Needed to search, if given."),
    ] = None,
    write_key: Annotated[
        str | None,
        typer.Option("--write-key", envvar="DIPTYCH_WRITE_KEY", show_envvar=True, help="Without it nobody may write."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="N", help="Requests a second that one client may make for long.")
    ] = None,
    max_upload: Annotated[
        float, typer.Option("--max-upload", metavar="MB", help="The largest image that is read.")
    ] = 20.0,
    max_pixels: Annotated[int, typer.Option("--max-pixels", min=1, help="Of an image at most.")] = 50_000_000,
    trust_proxy: Annotated[
        str | None,
        typer.Option(
            "--trust-proxy",
            metavar="ADDRESSES",
            help="Proxies whose word is taken for where a request comes from, such as 127.0.0.1 or 10.0.0.0/8.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A name that a server without a read key answers to, besides this machine's own; * for any.",
        ),
    ] = None,
    url: ServerUrl = None,
    shutdown: Annotated[
        float, typer.Option("--shutdown", metavar="S", help="Seconds that accepted requests have to finish.")
    ] = 30.0,
) -> None:
    """Serve an index: a page for people and an API for programs, until Ctrl-C.

    Give keys by the environment rather than as options, which others on the machine can see.
    """
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
        trust_proxy=trust_proxy,
        allow_hosts=(host, *(allow_host or ())),
        shutdown_s=shutdown,
        workers=workers,
    )
    if url is not None:
        os.environ[URL_VARIABLE] = url  # for the workers too
    check_place(index, host, port)
    messages = Console(stderr=True)
    say(messages, f"serving {index} at {shown_address(host, port)} (stop with Ctrl-C)")
    if not _is_loopback(host) and read_key is None:
        say(messages, "anybody who can reach this machine may search; give --read-key to ask for a key.")
    serve_index(index, settings, host, port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
