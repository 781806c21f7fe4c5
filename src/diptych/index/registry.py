"""Engines by name; each is imported when it is first asked for.

An installed package adds an engine by an item point of the group `diptych.engines`: its name, and a module with
`create(place, identity, **options)` and `open(place, **options)`. One that can be searched by words says so by
`WORDS = True`; its `create` then takes the option `words`. One whose `Index.backup` writes files has
`restore(file, place)`.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from diptych._core.errors import ConfigError
from diptych.index.contract import Index
from diptych.index.identity import EmbedderId, Identity
from diptych.index.items import ItemLimits

_ENGINES = {
    "local": "diptych.index.local",
    "milvus": "diptych.index.milvus",
    "pgvector": "diptych.index.pgvector",
}
_WITH_WORDS = ("local", "pgvector")
"""The built-in engines whose `create` takes `words`."""


def engines() -> list[str]:
    """Return the names of the engines."""
    return sorted(_modules())


def engines_with_words() -> tuple[str, ...]:
    """Return the names of the engines whose indexes can also be searched by words."""
    others = (name for name in engines() if name not in _ENGINES and getattr(_module(name), "WORDS", False))
    return (*_WITH_WORDS, *others)


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
        place: a folder that does not exist yet; other engines take a name.
        identity: what makes the vectors, how long they are, how they are compared.
        engine: which engine stores it.
        words: whether its items can also be found by words.
        **options: options of this engine; an unknown one is an error.
    """
    identity.check()
    if words:
        if engine not in engines_with_words():
            raise ConfigError(f"the engine {engine} keeps no words; choose one of {', '.join(engines_with_words())}.")
        options["words"] = words
    return _function(engine, "create")(place, identity, **options)


def open_index(
    place: Path | str,
    *,
    engine: str = "local",
    embedder: EmbedderId | None = None,
    limits: ItemLimits | None = None,
    **options: Any,  # noqa: ANN401
) -> Index:
    """Open an index.

    Args:
        place: its folder, or its name.
        engine: which engine stores it.
        embedder: refuse an index of another one.
        limits: what may be added.
        **options: options of this engine, such as `time_limit_s`.
    """
    if limits is not None:
        limits.check()
    index = _function(engine, "open")(place, **options)
    if limits is not None:
        index.limits = limits
    if embedder is not None:
        try:
            index.identity.require(embedder)
        except BaseException:
            index.close()
            raise
    return index


def restore_index(file: Path | str, place: Path | str, *, engine: str = "local") -> None:
    """Make an index of a file that `Index.backup` wrote; it appears at `place` when it is whole and was checked."""
    module = _module(engine)
    if not hasattr(module, "restore"):
        raise ConfigError(f"the engine {engine} restores no backup files; use the tools of its server.")
    module.restore(file, place)


def _modules() -> dict[str, str]:
    """The built-in engines and those of installed packages, which cannot take a built-in one's name."""
    return {point.name: point.module for point in entry_points(group="diptych.engines")} | _ENGINES


def _module(engine: str) -> ModuleType:
    known = _modules()
    if engine not in known:
        raise ConfigError(f"engine is {engine!r}; choose one of {', '.join(sorted(known))}.")
    return import_module(known[engine])


def _function(engine: str, name: str) -> Callable[..., Index]:
    return cast(Callable[..., Index], getattr(_module(engine), name))
