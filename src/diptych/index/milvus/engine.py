"""The engine that stores an index in a collection of Milvus.

Milvus writes a request as a whole, and asked for strong consistency it shows every change that it has acknowledged. It
has no transactions beyond that: of two processes that add the same id at the same moment, the later one wins.
"""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

from diptych._core.arrays import Singles
from diptych._core.errors import DataError
from diptych.index.contract import Index, already_there
from diptych.index.filters import Condition
from diptych.index.identity import Identity
from diptych.index.items import Batch, Hits, Item
from diptych.index.milvus import collection
from diptych.index.milvus.collection import Connection, Settings
from diptych.index.milvus.filters import one_of
from diptych.index.milvus.rows import Reader, Search, rows_of, vectors_of
from diptych.index.remote import narrowed, stored_name

_AT_ONCE_BYTES = 8 * 2**20


def write_snapshot(client: Any, source: Reader, name: str, identity: Identity, settings: Settings) -> None:  # noqa: ANN401
    """Copy all items into a new collection of this name."""
    collection.refuse_existing(client, name)
    unfinished = f"{name}_unfinished"
    if client.has_collection(unfinished):  # of a copy that was broken off
        client.drop_collection(unfinished)
    collection.make_collection(client, unfinished, identity, settings)
    at_once = max(1, min(1_000, _AT_ONCE_BYTES // (4 * identity.dimension)))
    for rows in source.pages(None, ["id", "modality", "vector", "metadata", "spans"], at_once):
        client.upsert(unfinished, [dict(row) for row in rows])
    client.rename_collection(unfinished, name)


_PATIENCE_S = 24 * 3600.0
_GLANCE_S = 0.2


def create(place: Path | str, identity: Identity, *, url: str = "", **options: Any) -> "MilvusIndex":  # noqa: ANN401
    """Make the collection of an empty index and open it.

    Args:
        place: the name of the index.
        identity: what makes the vectors, how long they are, how they are compared.
        url: the address of the server, http://USER:PASSWORD@HOST:PORT/DATABASE.
        **options: those of `Settings`.
    """
    settings = Settings.from_options(options, engine="the engine milvus", besides=("url",))
    name = stored_name(place)
    with closing(Connection(url)) as connection, connection.client() as client:
        collection.make_collection(client, name, identity, settings)
    return MilvusIndex(place, url)


def open(
    place: Path | str, *, url: str = "", time_limit_s: float | None = 30.0, wait_s: float | None = None
) -> "MilvusIndex":
    """Open an index that exists.

    Args:
        place: the name of the index.
        url: the address of the server.
        time_limit_s: how long a request may take before it is cancelled; None for no limit.
        wait_s: of other engines; Milvus locks nothing that a change could wait for.
    """
    return MilvusIndex(place, url, time_limit_s=time_limit_s)


class MilvusIndex(Index):
    """An index in a collection of Milvus; threads may share it, and other processes may open it, too."""

    def __init__(self, place: Path | str, url: str, *, time_limit_s: float | None = 30.0) -> None:
        self._name = stored_name(place)
        self._connection = Connection(url, time_limit_s=time_limit_s)
        try:
            with self._connection.client() as client:
                self._identity, self._settings = collection.read_head(client, self._name, self._connection.shown)
                client.load_collection(self._name, replica_number=self._settings.replicas)
        except BaseException:
            self.close()
            raise
        self._reader = Reader(self._connection, self._name)

    @property
    def identity(self) -> Identity:
        """What made the vectors, how long they are, how they are compared."""
        return self._identity

    def optimise(self) -> None:
        """Seal what was added and wait until the server has built its structure over it."""
        with self._connection.client() as client:
            before = self._built(client)
            client.flush(self._name)
            until = time.monotonic() + _PATIENCE_S
            while (now := self._built(client))[1] > 0:
                if time.monotonic() > until:
                    raise DataError(f"Milvus at {self._connection.shown} has not built its index in a day; look there.")
                time.sleep(_GLANCE_S)
            if now != before:  # searches go on with what they had until they are told; telling takes ten seconds
                client.refresh_load(self._name)

    def snapshot(self, target: Path | str) -> Path:
        """Copy the collection to one of its own on the same server; `target` is the name of the new index.

        It is consistent if there are no writes meanwhile: Milvus cannot read a collection as of one moment.
        """
        with self._connection.client() as client:
            write_snapshot(client, self._reader, stored_name(target), self._identity, self._settings)
        return Path(target)

    def check_available(self) -> None:
        """Raise an error that says why, if the server does not answer."""
        self._connection.check_available()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _built(self, client: Any) -> tuple[int, int]:  # noqa: ANN401 - see collection.py
        """How many sealed vectors there are, and how many of them still wait for the structure."""
        known = client.describe_index(self._name, "vector")
        return int(known.get("total_rows", 0)), int(known.get("pending_index_rows", 0))

    def _add(self, batch: Batch) -> int:
        rows = rows_of(batch)
        known = self._reader.by_ids(list(batch.ids), ["id"])
        for id in batch.ids:
            if id in known:
                raise already_there(id)
        return self._put(rows)

    def _update(self, batch: Batch) -> int:
        return self._put(rows_of(batch))

    def _put(self, rows: list[dict[str, Any]]) -> int:
        self._connection.ask(lambda client, seconds: client.upsert(self._name, rows, timeout=seconds))
        return len(rows)

    def _delete(self, ids: list[str]) -> int:
        known = list(self._reader.by_ids(ids, ["id"]))
        if known:
            chosen = one_of("id", known)
            self._connection.ask(lambda client, seconds: client.delete(self._name, filter=chosen, timeout=seconds))
        return len(known)

    def _get(self, ids: list[str]) -> dict[str, Item]:
        found = self._reader.by_ids(ids, ["id", "modality", "vector", "metadata"])
        return {
            id: Item(id, row["modality"], vectors_of([row], self._identity.dimension)[0], row["metadata"])
            for id, row in found.items()
        }

    def _count(self, condition: Condition | None) -> int:
        return self._reader.count(condition)

    def _list_ids(self, condition: Condition | None, limit: int) -> list[str]:
        ids: list[str] = []
        for rows in self._reader.pages(condition, ["id"], at_once=min(limit, 10_000)):
            ids += [row["id"] for row in rows]
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _search(
        self,
        queries: Singles,
        k: int,
        offset: int,
        condition: Condition | None,
        modality: str | None,
        with_metadata: bool,
        exact: bool,
    ) -> list[Hits]:
        asked = narrowed(condition, modality)
        search = Search(self._connection, self._name, self._identity.dimension, self._settings, asked)
        return search.nearest(queries, k, offset, with_metadata, exact)
