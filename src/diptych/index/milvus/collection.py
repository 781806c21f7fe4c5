"""A collection of Milvus: the connection to the server, the settings, and how a collection is made.

What made its vectors is written in the collection's description.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from diptych._core.errors import ConfigError, DataError
from diptych._core.optional import optional_package
from diptych.index.identity import EngineSettings, Identity
from diptych.index.items import LONGEST_NAME
from diptych.index.remote import parse_head, write_head


def pymilvus() -> Any:  # noqa: ANN401 - the type checker must do without the extra
    """Return the client library, or raise an error that names the extra."""
    return optional_package("pymilvus", "the engine milvus", "milvus")


Structure = Literal["hnsw", "flat", "ivf_sq8", "diskann"]
STRUCTURES: tuple[Structure, ...] = ("hnsw", "flat", "ivf_sq8", "diskann")
WIDEST = 32_768
"""Numbers in a vector that Milvus stores."""


@dataclass(frozen=True)
class Settings(EngineSettings):
    """The choices of this engine.

    Attributes:
        structure: "hnsw" keeps a graph and all vectors in memory, "ivf_sq8" clusters of 8-bit codes, "diskann" codes in
            memory and the rest on disk, "flat" compares with every vector.
        links: neighbours of a vector in the graph (hnsw).
        ef_construction: candidates kept while the graph is built (hnsw).
        ef_search: candidates kept while it is searched (hnsw, diskann).
        clusters: into how many a part of the vectors is divided (ivf_sq8).
        probes: how many of them are searched (ivf_sq8).
        shards: how many streams take in changes; more for many writers.
        replicas: how many copies of everything answer searches.
    """

    structure: Structure = "hnsw"
    links: int = 16
    ef_construction: int = 64
    ef_search: int = 64
    clusters: int = 1_024
    probes: int = 32
    shards: int = 1
    replicas: int = 1

    def check(self) -> None:
        """Refuse values out of range."""
        if self.structure not in STRUCTURES:
            raise ConfigError(f"structure is {self.structure!r}; choose one of {', '.join(STRUCTURES)}.")
        self.check_between(
            links=(2, 2_048),
            ef_construction=(1, 65_536),
            ef_search=(1, 16_384),
            clusters=(1, 65_536),
            probes=(1, 65_536),
            shards=(1, 64),
            replicas=(1, 1_000),
        )

    def to_build(self) -> dict[str, Any]:
        """What the server is told when it builds the structure."""
        given: dict[Structure, dict[str, int]] = {
            "hnsw": {"M": self.links, "efConstruction": self.ef_construction},
            "ivf_sq8": {"nlist": self.clusters},
        }
        return {
            "index_type": self.structure.upper(),
            "metric_type": "IP",
            "params": given.get(self.structure, {}),
        }

    def to_search(self, limit: int) -> dict[str, Any]:
        """What the server is told when it looks for so many."""
        kept = max(self.ef_search, limit)
        given: dict[Structure, dict[str, int]] = {
            "hnsw": {"ef": kept},
            "ivf_sq8": {"nprobe": min(self.probes, self.clusters)},
            "diskann": {"search_list": kept},
        }
        return {"metric_type": "IP", "params": given.get(self.structure, {})}


ANSWER_S = 60.0
"""How long an answer may take, with all that the client tries again when the server is gone."""
_CONNECT_S = 10.0
_NOT_CONNECTED = 2
"""What the client calls a server that is gone."""


class Connection:
    """A client that threads may share."""

    def __init__(self, url: str) -> None:
        parts = _parts(url)
        self.shown = parts.pop("shown")
        self._secrets = [value for name in ("password", "token") if (value := parts.get(name))]
        self._client: Any = None
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # it logs whole requests, secrets and all
        with self._told(connecting=True):
            self._client = pymilvus().MilvusClient(**parts, timeout=_CONNECT_S)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """The client; what goes wrong in the block becomes one of our errors."""
        if self._client is None:
            raise ConfigError("this index is closed; open it again.")
        with self._told(connecting=False):
            yield self._client

    def close(self) -> None:
        """Close the connection; twice does no harm."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def _told(self, *, connecting: bool) -> Iterator[None]:
        try:
            yield
        except pymilvus().MilvusException as error:
            told = " ".join(str(error.message).split())
            for secret in self._secrets:
                told = told.replace(secret, "…")
            if connecting or error.code == _NOT_CONNECTED or isinstance(error, pymilvus().MilvusUnavailableException):
                raise ConfigError(
                    f"Milvus at {self.shown} cannot be used ({told}); check --url and the server."
                ) from None
            raise DataError(f"Milvus at {self.shown} refuses: {told}") from None


def _parts(url: str) -> dict[str, Any]:
    """What the client is told; the address itself goes without the password, which it would repeat in messages."""
    usage = "write http://USER:PASSWORD@HOST:PORT/DATABASE, or https://"
    if not url:
        raise ConfigError(f"the engine milvus needs the address of a server; give --url: {usage}.")
    try:
        given = urlsplit(url)
        port = given.port or 19_530
    except ValueError:
        raise ConfigError(f"the address of Milvus is not understood; {usage}.") from None
    if given.scheme not in ("http", "https", "tcp") or not given.hostname:
        raise ConfigError(f"the address of Milvus is not understood; {usage}.")
    host = f"[{given.hostname}]" if ":" in given.hostname else given.hostname
    address = f"{given.scheme}://{host}:{port}"
    database = given.path.strip("/")
    parts: dict[str, Any] = {"uri": address, "shown": f"{address}/{database}" if database else address}
    if database:
        parts["db_name"] = unquote(database)
    if given.username and given.password:
        parts |= {"user": unquote(given.username), "password": unquote(given.password)}
    elif given.username:
        parts["token"] = unquote(given.username)
    return parts


def make_collection(client: Any, name: str, identity: Identity, settings: Settings) -> None:  # noqa: ANN401
    """Make an empty collection and load it; one of this name must not be there."""
    if identity.dimension > WIDEST:
        raise ConfigError(f"dimension is {identity.dimension}; Milvus stores vectors of at most {WIDEST} numbers.")
    refuse_existing(client, name)
    types = pymilvus().DataType
    head = write_head(identity, settings)
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False, description=head)
    schema.add_field("id", types.VARCHAR, is_primary=True, max_length=LONGEST_NAME)
    schema.add_field("modality", types.VARCHAR, max_length=LONGEST_NAME)
    schema.add_field("vector", types.FLOAT_VECTOR, dim=max(2, identity.dimension))
    schema.add_field("metadata", types.JSON)
    schema.add_field("spans", types.JSON)
    index = client.prepare_index_params()
    index.add_index("vector", **settings.to_build())
    client.create_collection(name, schema=schema, consistency_level="Strong", num_shards=settings.shards)
    client.create_index(name, index)
    client.load_collection(name, replica_number=settings.replicas)


def refuse_existing(client: Any, name: str) -> None:  # noqa: ANN401 - see collection.py
    """An index is never made in the place of another."""
    if client.has_collection(name):
        raise DataError(f"an index stored as {name} already exists; choose another name.")


def read_head(client: Any, name: str, place: str) -> tuple[Identity, Settings]:  # noqa: ANN401 - see collection.py
    """What was fixed when the index was created."""
    text = client.describe_collection(name)["description"] if client.has_collection(name) else None
    return parse_head(text, Settings, name, f"Milvus at {place}")
