"""The command line's entry: `diptych COMMAND`."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from diptych._core.errors import DiptychError
from diptych.cli import import_, sample
from diptych.cli.add import add
from diptych.cli.card import card
from diptych.cli.compare import compare
from diptych.cli.curve import curve
from diptych.cli.demo import demo
from diptych.cli.embed import embed
from diptych.cli.embed_file import embed_file
from diptych.cli.evaluate import evaluate
from diptych.cli.export import export
from diptych.cli.features import features
from diptych.cli.fit import fit
from diptych.cli.index_ import index
from diptych.cli.info import info
from diptych.cli.ingest import ingest
from diptych.cli.methods_ import methods
from diptych.cli.probe import probe
from diptych.cli.reliability import reliability
from diptych.cli.remove import remove
from diptych.cli.reproduce import reproduce
from diptych.cli.search import search
from diptych.cli.serve import serve
from diptych.cli.up import up

app = typer.Typer(
    name="diptych",
    help="Search pictures with words and words with pictures, in your own data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(import_.app, name="import")
app.add_typer(sample.app, name="sample")
for command in (
    up,
    info,
    ingest,
    probe,
    compare,
    curve,
    fit,
    evaluate,
    embed,
    embed_file,
    methods,
    features,
    demo,
    reproduce,
):
    app.command()(command)
for finished in (export, card):
    app.command()(finished)
for searching in (index, search, add, remove, reliability, serve):
    app.command()(searching)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"diptych {version('diptych')}")
        raise typer.Exit


@app.callback()
def _root(
    version_asked: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Search pictures with words and words with pictures, in your own data."""


def run() -> None:
    """Run a command; an error raised on purpose becomes one line on stderr and exit status 2."""
    try:
        app()
    except DiptychError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
