"""`diptych keys`: create, list, rotate and revoke the keys of a server."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from diptych.cli.console import output_console, say

Role = Literal["read", "write", "admin"]
KeyFile = Annotated[Path, typer.Argument(metavar="FILE", help="File of keys, for `diptych serve --keys`.")]
KeyName = Annotated[str, typer.Argument(metavar="NAME", help="Who uses the key; the audit log tells it.")]

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
    say(Console(stderr=True), f"{name} may {role}; keep this key, the file holds only its digest:")
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
    """Replace a key by a new one and print it; the old one ends at once."""
    from diptych.serving.keys import rotate_key

    typer.echo(rotate_key(file, name))


@app.command()
def revoke(file: KeyFile, name: KeyName) -> None:
    """End a key at once."""
    from diptych.serving.keys import revoke_key

    revoke_key(file, name)
    say(Console(stderr=True), f"{name} is revoked")
