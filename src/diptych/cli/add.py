"""`diptych add`: new pictures and texts into an index."""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from diptych._core.errors import ConfigError, DataError
from diptych.cli.literals import split_settings
from diptych.cli.search import IndexFolder, ServerUrl
from diptych.search import NewItem, Searcher, entry_id

_TEXT_ENDINGS = (".txt", ".text", ".md")


def add(
    index: IndexFolder,
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE…", help="Pictures and text files.")] = None,
    text: Annotated[list[str] | None, typer.Option("--text", "-t", help="A text itself; once for each.")] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="What to call it; for one item. A file is called by its name.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option("--label", help="A class; several times for several.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Anything else to know of them.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace items of the same id.")] = False,
    url: ServerUrl = None,
) -> None:
    """Add pictures and texts to an index; they can be found at once."""
    metadata: dict[str, Any] = dict(split_settings(settings or []))
    if label:
        metadata["label"] = label[0] if len(label) == 1 else label
    items = [_from_file(path, metadata) for path in files or []]
    items += [NewItem(_text_id(words), "text", words, metadata) for words in text or []]
    if not items:
        raise ConfigError("there is nothing to add; give files, or texts with --text.")
    if id is not None:
        if len(items) > 1:
            raise ConfigError(f"--id names one item, and there are {len(items)}; add them one by one.")
        items = [NewItem(id, items[0].kind, items[0].value, metadata)]
    with Searcher.open(index, writable=True, url=url) as searcher:
        done = searcher.add(items, replace=replace)
    typer.echo(f"{done} added: {', '.join(item.id for item in items)}", err=True)


def _text_id(words: str) -> str:
    return entry_id("text", hashlib.blake2b(words.encode(), digest_size=6).hexdigest())


def _from_file(path: Path, metadata: dict[str, Any]) -> NewItem:
    if path.suffix.lower() not in _TEXT_ENDINGS:
        return NewItem(entry_id("image", path.name), "image", path, metadata)
    try:
        return NewItem(entry_id("text", path.name), "text", path.read_text(encoding="utf-8-sig"), metadata)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); give a text file.") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error}); save it as UTF-8.") from None
