"""The long commands that `diptych up` stands for."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from diptych.ingest import IngestOptions
from diptych.up.folder import SearchFolder

_HOST, _PORT = "127.0.0.1", 8000


def long_commands(folder: SearchFolder, options: IngestOptions, host: str = _HOST, port: int = _PORT) -> list[str]:
    """What to type to get the same dataset, model, index and server step by step.

    Args:
        folder: where everything is kept.
        options: how the source is ingested.
        host: where it is served.
        port: where it is served.
    """
    ingest: list[str | Path] = ["ingest", options.pairs, "--out", folder.dataset]
    if options.images is not None:
        ingest += ["--images", options.images]
    if options.name is not None:
        ingest += ["--name", options.name]
    serve: list[str | Path] = ["serve", folder.index]
    if host != _HOST:
        serve += ["--host", host]
    if port != _PORT:
        serve += ["--port", str(port)]
    return [
        _line(ingest),
        _line(["fit", folder.dataset, "--out", folder.model]),
        _line(["index", folder.model, folder.dataset, "--out", folder.index]),
        _line(serve),
    ]


def _line(words: Sequence[str | Path]) -> str:
    return shlex.join(["diptych", *map(str, words)])
