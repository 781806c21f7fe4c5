"""`diptych remove`: take items out of an index."""

from typing import Annotated

import typer

from diptych.cli.search import IndexFolder, ServerUrl
from diptych.search import Searcher


def remove(
    index: IndexFolder,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="As results show them.")],
    url: ServerUrl = None,
) -> None:
    """Remove items from an index; they are gone at once."""
    with Searcher.open(index, writable=True, url=url) as searcher:
        distinct = list(dict.fromkeys(ids))
        done = searcher.remove(distinct)
    missing = f", {len(distinct) - done} not there" if done < len(distinct) else ""
    typer.echo(f"{done} removed{missing}", err=True)
