"""A collection of Milvus: the connection to the server, the settings, and how a collection is made.

What made its vectors is written in the collection's description.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from urllib.parse import unquote, urlsplit

from diptych._core.errors import BackendUnavailableError, ConfigError, DataError, TimeLimitError, optional_package
from diptych.index.identity import EngineSettings, Identity
from diptych.index.items import LONGEST_NAME
from diptych.index.remote import parse_head, write_head


def pymilvus() -> Any:  # noqa: ANN401 - the type checker must do without the extra
    """Return the client library, or raise an error that names the extra."""
    return optional_package("pymilvus", "the engine milvus", "milvus")


_DAY_S = 24 * 3600.0
Answer = TypeVar("Answer")

_log = logging.getLogger(__name__)

Structure = Literal["hnsw", "flat", "ivf_sq8", "diskann"]
STRUCTURES: tuple[Structure, ...] = ("hnsw", "flat", "ivf_sq8", "diskann")
WIDEST = 32_768
"""Numbers in a vector that Milvus stores."""


@dataclass(frozen=True)
class Settings(EngineSettings):
    """The choices of this engine.

    Attributes:
        structure: "hnsw" keeps a graph and all vectors in memory, "ivf_sq8" clusters of 8-bit vectors, "diskann" small
            vectors in memory and the rest on disk, "flat" compares with every vector.
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
        """The parameters for building the structure."""
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
        """The parameters of a search for so many."""
        kept = max(self.ef_search, limit)
        given: dict[Structure, dict[str, int]] = {
            "hnsw": {"ef": kept},
            "ivf_sq8": {"nprobe": min(self.probes, self.clusters)},
            "diskann": {"search_list": kept},
        }
        return {"metric_type": "IP", "params": given.get(self.structure, {})}


_CONNECT_S = 5.0
_FIRST_S = 2.0
"""So long an answer may take before the server is pinged."""
_PROBE_S = 1.5
_NOT_CONNECTED = 2
"""What the client calls a server that is gone."""


class Connection:
    """A client that threads may share.

    Args:
        url: the address of the server.
        time_limit_s: how long a request may take that is under way in a living server; None for a day.
    """

    def __init__(self, url: str, *, time_limit_s: float | None = 30.0) -> None:
        parts = _parts(url)
        self.shown = parts.pop("shown")
        self._time_limit_s = _DAY_S if time_limit_s is None else time_limit_s
        self._secrets = [value for name in ("password", "token") if (value := parts.get(name))]
        self._client: Any = None
        library = pymilvus()
        # It logs whole requests, secrets and all; importing it sets the level anew.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        with self._explained(connecting=True):
            self._client = library.MilvusClient(**parts, timeout=_CONNECT_S)

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Lend the client; what goes wrong in the block becomes one of our errors."""
        if self._client is None:
            raise ConfigError("this index is closed; open it again.")
        with self._explained(connecting=False):
            yield self._client

    def ask(self, request: Callable[[Any, float], Answer]) -> Answer:
        """Send a request, given as a function of the client and of the seconds it may take.

        A server that does not answer at once is asked whether it lives. If it does, the request is sent again and may
        take as long as it is allowed: every request can be repeated.
        """
        with self.client() as client:
            try:
                return request(client, min(_FIRST_S, self._time_limit_s))
            except (pymilvus().MilvusException, _grpc().RpcError) as error:
                if not _is_silence(error) or self._time_limit_s <= _FIRST_S:
                    raise
                if not self._lives():
                    raise self._away("it does not answer") from None
            return request(client, self._time_limit_s)

    def check_available(self) -> None:
        """Raise an error that says why, if the server does not answer."""
        with self.client() as client:
            client.get_server_version(timeout=_FIRST_S)

    def close(self) -> None:
        """Close the connection; twice does no harm."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @contextmanager
    def _explained(self, *, connecting: bool) -> Iterator[None]:
        try:
            yield
        except (pymilvus().MilvusException, _grpc().RpcError) as error:
            told = " ".join(str(getattr(error, "message", error)).split())
            for secret in self._secrets:
                told = told.replace(secret, "…")
            if connecting and not (_is_silence(error) or _is_absence(error)):
                raise ConfigError(self._details(told)) from None
            if not connecting and _is_silence(error) and self._lives():
                raise TimeLimitError(
                    "the query took longer than allowed and was cancelled; narrow its condition."
                ) from None
            if _is_silence(error) or _is_absence(error):
                raise self._away(told) from None
            raise DataError(f"Milvus refuses: {told}") from None

    def _away(self, told: str) -> BackendUnavailableError:
        _log.warning("Milvus at %s cannot be used now: %s", self.shown, told)
        return BackendUnavailableError(
            "the server of the index cannot be used now: it does not answer; try again later.", self._details(told)
        )

    def _details(self, told: str) -> str:
        return f"Milvus at {self.shown} cannot be used ({told}); check --url and the server."

    def _lives(self) -> bool:
        try:
            self._client.get_server_version(timeout=_PROBE_S)
        except (pymilvus().MilvusException, _grpc().RpcError):
            return False
        return True


def _grpc() -> Any:  # noqa: ANN401 - the type checker must do without the extra
    return optional_package("grpc", "the engine milvus", "milvus")


def _is_silence(error: Any) -> bool:  # noqa: ANN401 - of the client or of gRPC
    """Whether an answer did not come in time, or came so late that the client had given up trying."""
    if isinstance(error, _grpc().RpcError):
        return bool(error.code() == _grpc().StatusCode.DEADLINE_EXCEEDED)
    return "Retry timeout" in str(error)


def _is_absence(error: Any) -> bool:  # noqa: ANN401 - of the client or of gRPC
    """Whether nobody is there to answer."""
    if isinstance(error, _grpc().RpcError):
        return error.code() in (_grpc().StatusCode.UNAVAILABLE, _grpc().StatusCode.CANCELLED)
    away = (_NOT_CONNECTED, _grpc().StatusCode.UNAVAILABLE)
    return isinstance(error, pymilvus().MilvusUnavailableException) or error.code in away


def _parts(url: str) -> dict[str, Any]:
    """The settings of the client; the address itself goes without the password, which it would repeat in messages."""
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
    try:
        client.create_index(name, index)
        client.load_collection(name, replica_number=settings.replicas)
    except BaseException as error:
        with suppress(pymilvus().MilvusException, _grpc().RpcError):
            client.drop_collection(name)  # nobody else would find it
        if isinstance(error, pymilvus().MilvusException) and settings.replicas > 1:
            raise ConfigError(
                f"replicas is {settings.replicas}, and Milvus cannot load so many ({error.message}); "
                "give it a query node for each, or ask for fewer."
            ) from None
        raise


def refuse_existing(client: Any, name: str) -> None:  # noqa: ANN401 - see collection.py
    """An index is never made in the place of another."""
    if client.has_collection(name):
        raise DataError(f"an index stored as {name} already exists; choose another name.")


def read_head(client: Any, name: str, place: str) -> tuple[Identity, Settings]:  # noqa: ANN401 - see collection.py
    """What was fixed when the index was created."""
    text = client.describe_collection(name)["description"] if client.has_collection(name) else None
    return parse_head(text, Settings, name, f"Milvus at {place}")
