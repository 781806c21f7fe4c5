"""Find the nearest of many vectors and store what is known about them: one contract, several engines by name.

An engine is imported when it is first asked for. An installed package adds one by an entry point of the group
`diptych.engines`: its name, and a module with `create(place, identity, **options)` and `open(place, **options)`. One
that can be searched by words says so by `WORDS = True`; its `create` then takes the option `words`. One that searches
binary codes says `CODES = True`; its `create` then takes `bits` and `codes`. One whose `Index.backup` writes files has
`restore(file, place)`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from urllib.parse import urlsplit

from diptych._core.errors import ConfigError, DataError
from diptych.index.contract import Index
from diptych.index.filters import Condition
from diptych.index.filters.parser import parse
from diptych.index.identity import EmbedderId, Identity
from diptych.index.items import Hits, Item, ItemLimits

__all__ = [
    "Condition",
    "EmbedderId",
    "Hits",
    "Identity",
    "Index",
    "Item",
    "ItemLimits",
    "create_index",
    "engines",
    "engines_with_codes",
    "engines_with_words",
    "open_index",
    "parse",
    "restore_index",
]

_ENGINES = {
    "local": "diptych.index.local",
    "milvus": "diptych.index.milvus",
    "pgvector": "diptych.index.pgvector",
}
_WITH_WORDS = _WITH_CODES = ("local", "pgvector")
"""The built-in engines whose `create` takes `words`, and `bits` and `codes`."""


def engines() -> list[str]:
    """Return the names of the engines."""
    return sorted(_modules())


def engines_with_words() -> tuple[str, ...]:
    """Return the names of the engines whose indexes can also be searched by words."""
    return (*_WITH_WORDS, *_others("WORDS"))


def engines_with_codes() -> tuple[str, ...]:
    """Return the names of the engines that search binary codes."""
    return (*_WITH_CODES, *_others("CODES"))


def _others(saying: str) -> list[str]:
    """The engines of installed packages that say so of themselves."""
    return [name for name in engines() if name not in _ENGINES and getattr(_module(name), saying, False)]


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
        limits: limits on added items.
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


URL_VARIABLE = "DIPTYCH_ENGINE_URL"
"""The environment variable with the address of the server, password and all, which no index keeps."""


@dataclass(frozen=True)
class EngineLocation:
    """Where the vectors are.

    Attributes:
        engine: which engine.
        url: the address of its server; None for an engine in the folder.
        place: what the index is called on the server; None for an engine in the folder.
        options: of the engine, for an index that is made.
    """

    engine: str = "local"
    url: str | None = None
    place: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def found(cls, engine: str, url: str | None, place: str | None, stored_url: str | None = None) -> "EngineLocation":
        """A location whose address is given, in the environment, or known without a password."""
        if engine == "local":
            if url is not None:
                raise ConfigError(f"the local engine has no address, and {url!r} was given; leave out --url.")
            return cls()
        return cls(engine, url or os.environ.get(URL_VARIABLE) or stored_url, place)

    def for_texts(self) -> "EngineLocation":
        """Where the texts beside an index are: the same engine where it finds words, else one in the folder."""
        if self.engine not in engines_with_words() or self.place is None:
            return EngineLocation()
        return EngineLocation(self.engine, self.url, f"{self.place}-texts")

    def create(self, folder: Path, identity: Identity, *, parts_searched: bool = False, words: bool = False) -> Index:
        """Make an empty index.

        Args:
            folder: where, for an engine in a folder.
            identity: of the vectors.
            parts_searched: whether queries will look at some of the columns only. Such a query is compared with every
                vector; Milvus does this well only if the index is made for it.
            words: whether entries can also be found by words.
        """
        decided = [name for name in ("url", "words") if name in self.options]
        if decided:
            raise ConfigError(f"the engine option '{decided[0]}' is decided by the index; leave it out.")
        options = self._options()
        if parts_searched and self.engine == "milvus":
            options["structure"] = "flat"
        options |= self.options
        return create_index(self.place or folder, identity, engine=self.engine, words=words, **options)

    def open(
        self,
        folder: Path,
        embedder: EmbedderId | None = None,
        *,
        writable: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> Index:
        """Open the index; one of another embedder is refused, if that is given.

        Args:
            folder: where, for an engine in a folder.
            embedder: of the vectors.
            writable: whether items may be added and removed.
            options: of `open_index`, such as `limits` and `time_limit_s`.
        """
        given = dict(options or {})
        if self.engine == "local":
            return open_index(folder, embedder=embedder, read_only=not writable, **given)
        if self.place is None:
            raise DataError(f"{folder} does not say what its index is called in {self.engine}; build it again.")
        return open_index(self.place, engine=self.engine, embedder=embedder, **self._options(), **given)

    @property
    def public_url(self) -> str | None:
        """The address without its password, as it may stand in a file."""
        if self.url is None:
            return None
        secret = urlsplit(self.url).password
        return self.url if secret is None else self.url.replace(f":{secret}@", "@", 1)

    def _options(self) -> dict[str, Any]:
        return {"url": self.url or ""} if self.place else {}
