"""Items as rows of a collection, and back."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import DataError
from diptych.index.items import Batch
from diptych.index.milvus.spans import spans_of

LARGEST_METADATA = 65_536
"""Bytes of one item's metadata that Milvus keeps."""
LARGEST_CALL = 48 * 2**20
"""Bytes of one request; servers take 64 MB."""


def rows_of(batch: Batch) -> list[dict[str, Any]]:
    """A batch as one request, which is written as a whole or not at all; refused where it does not fit into one."""
    rows, size = [], batch.vectors.nbytes
    for id, modality, vector, text in zip(
        batch.ids, batch.modalities, padded(batch.vectors), batch.metadata, strict=True
    ):
        metadata = json.loads(text)
        spans = spans_of(metadata)
        bytes_each = max(len(text.encode()), len(json.dumps(spans)))
        if bytes_each > LARGEST_METADATA:
            raise DataError(
                f"the metadata of {id!r} has {bytes_each} bytes; Milvus keeps {LARGEST_METADATA}, so shorten it."
            )
        size += len(text.encode()) + 200
        rows.append({"id": id, "modality": modality, "vector": vector, "metadata": metadata, "spans": spans})
    if size > LARGEST_CALL:
        parts = -(-size // LARGEST_CALL)
        raise DataError(
            f"these {len(batch)} items have {size >> 20} MB, more than Milvus writes all or none of at once;"
            f" give at most {len(batch) // parts} items in a call."
        )
    return rows


def vectors_of(rows: list[Mapping[str, Any]], dimension: int) -> Singles:
    """The vectors of rows as they were stored."""
    found = np.asarray([row["vector"] for row in rows], np.float32).reshape(len(rows), max(2, dimension))
    return found[:, :dimension]


def blocks(ids: list[str], size: int) -> Iterator[list[str]]:
    """A list in parts."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def padded(vectors: Singles) -> Singles:
    """Milvus takes no vectors of one number: those get a zero, which changes no product."""
    return vectors if vectors.shape[1] > 1 else np.pad(vectors, ((0, 0), (0, 1)))
