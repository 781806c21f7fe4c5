"""A copy of a collection under another name, which appears only when it is whole."""

from typing import Any

from diptych.index.identity import Identity
from diptych.index.milvus import schema
from diptych.index.milvus.reads import Reader
from diptych.index.milvus.settings import Settings

_AT_ONCE_BYTES = 8 * 2**20


def write_snapshot(client: Any, source: Reader, name: str, identity: Identity, settings: Settings) -> None:  # noqa: ANN401
    """Copy all items into a new collection of this name."""
    schema.refuse_existing(client, name)
    unfinished = f"{name}_unfinished"
    if client.has_collection(unfinished):  # of a copy that was broken off
        client.drop_collection(unfinished)
    schema.make_collection(client, unfinished, identity, settings)
    at_once = max(1, min(1_000, _AT_ONCE_BYTES // (4 * identity.dimension)))
    for rows in source.pages(None, ["id", "modality", "vector", "metadata", "spans"], at_once):
        client.upsert(unfinished, [dict(row) for row in rows])
    client.rename_collection(unfinished, name)
