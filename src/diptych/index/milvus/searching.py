"""The nearest items of a collection: what the server proposes, checked, scored and put in order here."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from diptych._core.arrays import Singles
from diptych.index.filters import Condition
from diptych.index.items import Found
from diptych.index.milvus.connection import ANSWER_S, Connection
from diptych.index.milvus.filters import to_milvus
from diptych.index.milvus.reads import Reader, Row, fits
from diptych.index.milvus.rows import padded, vectors_of
from diptych.index.milvus.settings import Settings
from diptych.index.remote.ranking import SPARE, Candidates, in_order, page, settled

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

    def nearest(self, queries: Singles, k: int, offset: int, with_metadata: bool, exact: bool) -> list[Found]:
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

    def _exact(self, query: Singles, fields: list[str], k: int, offset: int, with_metadata: bool) -> Found:
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
        with self._connection.client() as client:
            answers = client.search(
                self._name,
                data=list(padded(queries)),
                anns_field="vector",
                filter=self._asked.text,
                limit=limit,
                output_fields=fields,
                search_params=self._settings.to_search(limit),
                consistency_level="Strong",
                timeout=ANSWER_S,
            )
            return [[hit["entity"] for hit in answer] for answer in answers]

    def _checked(self, rows: list[Row], asked_for: int) -> Candidates:
        """Rows that fit; whether they are all there are is asked only where they are few, as graphs may miss some."""
        complete = len(rows) < asked_for and len(rows) == self._reader.count_asked(self._asked)
        kept = rows if self._asked.exact else [row for row in rows if fits(self._condition, row)]
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
