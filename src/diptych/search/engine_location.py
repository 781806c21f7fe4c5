"""Where the vectors of an index are: in an engine in the index's own folder, or on a server."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from diptych._core.errors import ConfigError, DataError
from diptych.index import EmbedderId, Identity, Index, create_index, open_index
from diptych.index.registry import engines_with_words

URL_VARIABLE = "DIPTYCH_ENGINE_URL"
"""The environment variable with the address of the server, password and all, which no index keeps."""


@dataclass(frozen=True)
class EngineLocation:
    """Where the vectors are.

    Attributes:
        engine: which engine.
        url: the address of its server; None for an engine in the folder.
        place: what the index is called on the server; None for an engine in the folder.
    """

    engine: str = "local"
    url: str | None = None
    place: str | None = None

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
        options = self._options()
        if parts_searched and self.engine == "milvus":
            options["structure"] = "flat"
        return create_index(self.place or folder, identity, engine=self.engine, words=words, **options)

    def open(self, folder: Path, embedder: EmbedderId | None = None, *, writable: bool = True) -> Index:
        """Open the index; one of another embedder is refused, if that is given."""
        if self.engine == "local":
            return open_index(folder, embedder=embedder, read_only=not writable)
        if self.place is None:
            raise DataError(f"{folder} does not say what its index is called in {self.engine}; build it again.")
        return open_index(self.place, engine=self.engine, embedder=embedder, **self._options())

    @property
    def public_url(self) -> str | None:
        """The address without its password, as it may stand in a file."""
        if self.url is None:
            return None
        secret = urlsplit(self.url).password
        return self.url if secret is None else self.url.replace(f":{secret}@", "@", 1)

    def _options(self) -> dict[str, Any]:
        return {"url": self.url or ""} if self.place else {}
