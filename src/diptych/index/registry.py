"""Engines by name; each is imported when it is first asked for."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from diptych._core.errors import ConfigError
from diptych.index.contract import Index
from diptych.index.identity import Identity, Maker

_ENGINES = {"local": "diptych.index.local", "milvus": "diptych.index.milvus", "pgvector": "diptych.index.pgvector"}
"""Each module has `create(place, identity, **options)` and `open(place, **options)`."""
_WITH_WORDS = ("local", "pgvector")
"""Those whose `create` takes `words`."""


def engines() -> list[str]:
    """The names of the engines."""
    return sorted(_ENGINES)


def engines_with_words() -> tuple[str, ...]:
    """The names of the engines whose indexes can also be searched by words."""
    return _WITH_WORDS


def create_index(
    place: Path | str,
    identity: Identity,
    *,
    engine: str = "local",
    words: bool = False,
    **options: Any,  # noqa: ANN401
) -> Index:
    """Create an empty index and open it.

    Args:
        place: a folder that does not exist yet; other engines take an address.
        identity: who makes the vectors, how long they are, how they are compared.
        engine: which engine keeps it.
        words: whether its entries can also be found by words.
        **options: what this engine can be told; an unknown one is an error.
    """
    identity.check()
    if words:
        if engine not in _WITH_WORDS:
            raise ConfigError(f"the engine {engine} keeps no words; choose one of {', '.join(_WITH_WORDS)}.")
        options["words"] = words
    return _function(engine, "create")(place, identity, **options)


def open_index(place: Path | str, *, engine: str = "local", maker: Maker | None = None, **options: Any) -> Index:  # noqa: ANN401
    """Open an index; if `maker` is given, one of another maker is refused."""
    index = _function(engine, "open")(place, **options)
    if maker is not None:
        try:
            index.identity.require(maker)
        except BaseException:
            index.close()
            raise
    return index


def _function(engine: str, name: str) -> Callable[..., Index]:
    if engine not in _ENGINES:
        raise ConfigError(f"engine is {engine!r}; choose one of {', '.join(engines())}.")
    return cast(Callable[..., Index], getattr(import_module(_ENGINES[engine]), name))
