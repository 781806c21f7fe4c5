"""Items as rows of a collection: written, read by condition in the order of their ids, and searched.

The nearest items are what the server proposes, checked, scored and put in order here.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import DataError
from diptych.index.filters import Comparison, Condition, Key, predicate
from diptych.index.items import Batch, Hits
from diptych.index.milvus.collection import Connection, Settings
from diptych.index.milvus.filters import Expression, one_of, spans_of, to_milvus
from diptych.index.remote import SPARE, Candidates, in_order, page, settled

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


Row = Mapping[str, Any]
_AT_ONCE = 1_000
_ID = Key(("id",))


class Reader:
    """A collection, and how fresh its answers must be."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection, self._name = connection, name

    def by_ids(self, ids: list[str], fields: list[str]) -> dict[str, Row]:
        """The rows of these ids that are there."""
        found: dict[str, Row] = {}
        for block in blocks(ids, _AT_ONCE):
            found |= {row["id"]: row for row in self._query(one_of("id", block), fields, len(block))}
        return found

    def pages(self, condition: Condition | None, fields: list[str], at_once: int = _AT_ONCE) -> Iterator[list[Row]]:
        """All rows that fit, in the order of their ids."""
        asked = to_milvus(condition)
        fields = fields if asked.exact else sorted({*fields, "modality", "metadata"})
        fits = fitting(condition)
        last = ""
        while True:
            later = to_milvus(Comparison(_ID, ">", last)).text
            page = self._query(f"{later} and {asked.text}" if asked.text else later, fields, at_once)
            if page:
                last = page[-1]["id"]
                yield [row for row in page if asked.exact or fits(row)]
            if len(page) < at_once:
                return

    def count(self, condition: Condition | None) -> int:
        """How many rows fit."""
        asked = to_milvus(condition)
        if asked.exact:
            return self.count_asked(asked)
        return sum(len(page) for page in self.pages(condition, ["id"]))

    def count_asked(self, asked: Expression) -> int:
        """How many rows the server counts."""
        (answer,) = self._ask(filter=asked.text, output_fields=["count(*)"])
        return int(answer["count(*)"])

    def _query(self, text: str, fields: list[str], limit: int) -> list[Row]:
        return self._ask(filter=text, output_fields=fields, limit=limit)

    def _ask(self, **options: Any) -> list[Row]:  # noqa: ANN401 - of the client
        return self._connection.ask(
            lambda client, seconds: list(
                client.query(self._name, consistency_level="Strong", timeout=seconds, **options)
            )
        )


def fitting(condition: Condition | None) -> Callable[[Row], bool]:
    """Return a function that says whether a row that the server returned really meets the condition."""
    if condition is None:
        return lambda row: True
    holds = predicate(condition)
    return lambda row: holds(row["id"], row["modality"], row["metadata"])


_MOST_RESULTS = 16_384
"""What a server returns to one query at most."""
_MOST_BYTES = 32 * 2**20
"""Vectors in one answer."""


class Search:
    """One search of some queries."""

    def __init__(
        self, connection: Connection, name: str, dimension: int, settings: Settings, condition: Condition | None
    ) -> None:
        self._connection, self._name = connection, name
        self._dimension, self._settings = dimension, settings
        self._reader = Reader(connection, name)
        self._condition, self._asked = condition, to_milvus(condition)
        self._fits = fitting(condition)

    def nearest(self, queries: Singles, k: int, offset: int, with_metadata: bool, exact: bool) -> list[Hits]:
        """One answer a query; `exact` passes a graph by, which takes long unless the structure is "flat"."""
        fields = ["id", "modality", "vector"]
        if with_metadata or not self._asked.exact:
            fields.append("metadata")
        if exact and self._settings.structure != "flat":
            return [self._exact(query, fields, k, offset, with_metadata) for query in queries]
        found = []
        for block in self._blocks(queries, k + offset + SPARE):
            together = self._proposed(block, min(k + offset + SPARE, self._most()), fields)
            for query, first in zip(block, together, strict=True):
                fetch = partial(self._fetch, query, fields)
                ordered, scores = settled(query, k + offset, fetch, self._checked(first, k + offset + SPARE))
                found.append(page(ordered, scores, k, offset, with_metadata))
        return found

    def _exact(self, query: Singles, fields: list[str], k: int, offset: int, with_metadata: bool) -> Hits:
        ordered, scores = in_order(self._compared_with_all(query, fields, k + offset), query)
        return page(ordered, scores, k, offset, with_metadata)

    def _fetch(self, query: Singles, fields: list[str], limit: int, exact: bool) -> Candidates:
        """More candidates: from the server if it may return so many, else by comparing with all that fit."""
        asked_for = limit
        while not exact and asked_for <= self._most():
            (rows,) = self._proposed(query[None], asked_for, fields)
            candidates = self._checked(rows, asked_for)
            if len(candidates) >= limit or candidates.all_there_are or len(rows) < asked_for:
                return candidates
            asked_for *= 4  # the check has sorted out too many
        return self._compared_with_all(query, fields, limit)

    def _proposed(self, queries: Singles, limit: int, fields: list[str]) -> list[list[Row]]:
        answers = self._connection.ask(
            lambda client, seconds: client.search(
                self._name,
                data=list(padded(queries)),
                anns_field="vector",
                filter=self._asked.text,
                limit=limit,
                output_fields=fields,
                search_params=self._settings.to_search(limit),
                consistency_level="Strong",
                timeout=seconds,
            )
        )
        return [[hit["entity"] for hit in answer] for answer in answers]

    def _checked(self, rows: list[Row], asked_for: int) -> Candidates:
        """Rows that fit; whether they are all there are is asked only where they are few, as graphs may miss some."""
        complete = len(rows) < asked_for and len(rows) == self._reader.count_asked(self._asked)
        kept = rows if self._asked.exact else [row for row in rows if self._fits(row)]
        return self._candidates(kept, all_there_are=complete)

    def _compared_with_all(self, query: Singles, fields: list[str], limit: int) -> Candidates:
        """The best of all that fit, page by page: exact, and slow where they are many."""
        best = self._candidates([], all_there_are=True)
        for rows in self._reader.pages(self._condition, fields):
            both = _together(best, self._candidates(rows, all_there_are=True))
            ordered, _ = in_order(both, query)
            best = ordered.take(list(range(min(limit, len(ordered)))))
        return best

    def _candidates(self, rows: list[Row], *, all_there_are: bool) -> Candidates:
        return Candidates(
            [row["id"] for row in rows],
            [row["modality"] for row in rows],
            vectors_of(rows, self._dimension),
            [row["metadata"] for row in rows] if rows and "metadata" in rows[0] else [],
            all_there_are,
        )

    def _blocks(self, queries: Singles, limit: int) -> Iterator[Singles]:
        size = max(1, _MOST_BYTES // (4 * self._dimension * limit))
        for start in range(0, len(queries), size):
            yield queries[start : start + size]

    def _most(self) -> int:
        """As many results as one answer can carry."""
        return max(SPARE, min(_MOST_RESULTS, _MOST_BYTES // (4 * self._dimension)))


def _together(one: Candidates, other: Candidates) -> Candidates:
    return Candidates(
        one.ids + other.ids,
        one.modalities + other.modalities,
        np.concatenate([one.vectors, other.vectors]),
        one.metadata + other.metadata,
        one.all_there_are,
    )
