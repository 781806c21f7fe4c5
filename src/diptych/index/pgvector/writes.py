"""Put a batch into the table and take items out, inside a transaction of the caller."""

from typing import Any

from diptych.errors import DataError
from diptych.index.contract import already_there
from diptych.index.items import Batch
from diptych.index.pgvector.libraries import psycopg


def insert(connection: Any, table: Any, batch: Batch, *, replace: bool) -> int:  # noqa: ANN401 - see libraries.py
    """Write all items; one that is there already is replaced or refused.

    The batch is copied into a table of its own first, which is quicker than a statement for each item, and goes over in
    the order of the ids, so that two writers cannot wait for each other.
    """
    sql = psycopg().sql
    _fill_incoming(connection, table, batch)
    if not replace:
        known = connection.execute(
            sql.SQL("SELECT id FROM incoming JOIN {} USING (id) ORDER BY place LIMIT 1").format(table)
        ).fetchone()
        if known is not None:
            raise already_there(known[0])
    conflict = (
        "DO UPDATE SET modality = excluded.modality, metadata = excluded.metadata, vector = excluded.vector"
        if replace
        else "DO NOTHING"
    )
    statement = (
        "INSERT INTO {} (id, modality, metadata, vector)"
        " SELECT id, modality, metadata, vector FROM incoming ORDER BY id ON CONFLICT (id) " + conflict
    )
    written = int(connection.execute(sql.SQL(statement).format(table)).rowcount)
    if written != len(batch):
        raise DataError("another process added some of these ids at the same moment; use update to replace them.")
    return written


def remove(connection: Any, table: Any, ids: list[str]) -> int:  # noqa: ANN401 - see libraries.py
    """Delete items and say how many there were; rows are locked in the order of the ids, as writers do."""
    statement = psycopg().sql.SQL(
        "DELETE FROM {0} WHERE id IN (SELECT id FROM {0} WHERE id = ANY(%s) ORDER BY id FOR UPDATE)"
    )
    return int(connection.execute(statement.format(table), [ids]).rowcount)


def _fill_incoming(connection: Any, table: Any, batch: Batch) -> None:  # noqa: ANN401 - see libraries.py
    sql = psycopg().sql
    connection.execute(
        sql.SQL(
            "CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS"
            " SELECT 0::bigint AS place, id, modality, metadata, vector FROM {} WITH NO DATA"
        ).format(table)
    )
    wrapped = psycopg().types.json.Jsonb
    try:
        with (
            connection.cursor() as cursor,
            cursor.copy(
                "COPY incoming (place, id, modality, metadata, vector) FROM STDIN WITH (FORMAT BINARY)"
            ) as copy,
        ):
            copy.set_types(["int8", "text", "text", "jsonb", "vector"])
            for place, (id, modality, vector, known) in enumerate(
                zip(batch.ids, batch.modalities, batch.vectors, batch.metadata, strict=True)
            ):
                copy.write_row((place, id, modality, wrapped(known, dumps=_as_it_is), vector))
    except psycopg().errors.UntranslatableCharacter:
        raise DataError("some metadata holds a zero byte, which PostgreSQL cannot keep; leave it out.") from None


def _as_it_is(text: str) -> str:
    return text
