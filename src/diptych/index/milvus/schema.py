"""The collection of an index; who made its vectors is written in its description."""

from typing import Any

from diptych._core.errors import ConfigError, DataError
from diptych.index.checks import LONGEST_NAME
from diptych.index.identity import Identity
from diptych.index.milvus.library import pymilvus
from diptych.index.milvus.settings import WIDEST, Settings
from diptych.index.remote.head import parse_head, write_head


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


def refuse_existing(client: Any, name: str) -> None:  # noqa: ANN401 - see library.py
    """An index is never made in the place of another."""
    if client.has_collection(name):
        raise DataError(f"an index stored as {name} already exists; choose another name.")


def read_head(client: Any, name: str, place: str) -> tuple[Identity, Settings]:  # noqa: ANN401 - see library.py
    """What was fixed when the index was created."""
    text = client.describe_collection(name)["description"] if client.has_collection(name) else None
    return parse_head(text, Settings, name, f"Milvus at {place}")
