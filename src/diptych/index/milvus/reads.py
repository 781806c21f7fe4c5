"""Read items of a collection by condition, in the order of their ids."""

from collections.abc import Iterator, Mapping
from typing import Any

from diptych.index.filters import Comparison, Condition, Key, matches
from diptych.index.milvus.connection import ANSWER_S, Connection
from diptych.index.milvus.filters import Expression, one_of, to_milvus
from diptych.index.milvus.rows import blocks

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
        last = ""
        while True:
            later = to_milvus(Comparison(_ID, ">", last)).text
            page = self._query(f"{later} and {asked.text}" if asked.text else later, fields, at_once)
            if page:
                last = page[-1]["id"]
                yield [row for row in page if asked.exact or fits(condition, row)]
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
        with self._connection.client() as client:
            answer = client.query(
                self._name, filter=asked.text, output_fields=["count(*)"], consistency_level="Strong", timeout=ANSWER_S
            )
        return int(answer[0]["count(*)"])

    def _query(self, text: str, fields: list[str], limit: int) -> list[Row]:
        with self._connection.client() as client:
            return list(
                client.query(
                    self._name,
                    filter=text,
                    output_fields=fields,
                    limit=limit,
                    consistency_level="Strong",
                    timeout=ANSWER_S,
                )
            )


def fits(condition: Condition | None, row: Row) -> bool:
    """Whether a row that the server returned really meets the condition."""
    return condition is None or matches(condition, row["id"], row["modality"], row["metadata"])
