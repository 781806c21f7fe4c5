"""Put a batch into the table and take items out, inside a transaction of the caller."""

from typing import Any

from diptych._core.errors import DataError
from diptych.index.contract import already_there
from diptych.index.items import Batch
from diptych.index.pgvector.libraries import psycopg
from diptych.index.pgvector.vocabulary import Vocabulary
from diptych.index.terms import EntryWords

_MOST_BYTES = 2**20
"""Of all terms of an item: what a tsvector has numbers for."""
_COLUMNS = ("modality", "metadata", "vector")


def insert(
    connection: Any,  # noqa: ANN401 - see libraries.py
    table: Any,  # noqa: ANN401
    batch: Batch,
    *,
    replace: bool,
    vocabulary: Vocabulary | None,
) -> int:
    """Write all items; one that is there already is replaced or refused. Words are written where there is a vocabulary.

    The batch is copied into a table of its own first, which is quicker than a statement for each item, and goes over in
    the order of the ids, so that two writers cannot wait for each other.
    """
    sql = psycopg().sql
    columns = _COLUMNS if vocabulary is None else (*_COLUMNS, "words", "length")
    if vocabulary is not None:
        vocabulary.take_turns(connection)
    _fill_incoming(connection, table, batch, columns)
    if not replace:
        known = connection.execute(
            sql.SQL("SELECT id FROM incoming JOIN {} USING (id) ORDER BY place LIMIT 1").format(table)
        ).fetchone()
        if known is not None:
            raise already_there(known[0])
    if vocabulary is not None:
        new = [entry for entry in batch.words or () if entry is not None]
        vocabulary.change(connection, new, _stored(connection, table, list(batch.ids)) if replace else ())
    conflict = "DO UPDATE SET " + ", ".join(f"{column} = excluded.{column}" for column in columns)
    listed = ", ".join(("id", *columns))
    statement = f"INSERT INTO {{}} ({listed}) SELECT {listed} FROM incoming ORDER BY id ON CONFLICT (id) " + (
        conflict if replace else "DO NOTHING"
    )
    written = int(connection.execute(sql.SQL(statement).format(table)).rowcount)
    if written != len(batch):
        raise DataError("another process added some of these ids at the same moment; use update to replace them.")
    return written


def remove(connection: Any, table: Any, ids: list[str], vocabulary: Vocabulary | None) -> int:  # noqa: ANN401
    """Delete items and say how many there were; rows are locked in the order of the ids, as writers do."""
    if vocabulary is not None:
        vocabulary.take_turns(connection)
        vocabulary.change(connection, (), _stored(connection, table, ids))
    statement = psycopg().sql.SQL(
        "DELETE FROM {0} WHERE id IN (SELECT id FROM {0} WHERE id = ANY(%s) ORDER BY id FOR UPDATE)"
    )
    return int(connection.execute(statement.format(table), [ids]).rowcount)


def _stored(connection: Any, table: Any, ids: list[str]) -> list[tuple[int, list[str]]]:  # noqa: ANN401
    """Length and terms of those of the items that have words."""
    statement = psycopg().sql.SQL(
        "SELECT length, tsvector_to_array(words) FROM {} WHERE id = ANY(%s) AND words IS NOT NULL"
        " ORDER BY id FOR UPDATE"
    )
    return [(length, terms) for length, terms in connection.execute(statement.format(table), [ids]).fetchall()]


def _fill_incoming(connection: Any, table: Any, batch: Batch, columns: tuple[str, ...]) -> None:  # noqa: ANN401
    sql = psycopg().sql
    listed = ", ".join(("id", *columns))
    connection.execute(
        sql.SQL(
            "CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS"
            f" SELECT 0::bigint AS place, {listed} FROM {{}} WITH NO DATA"
        ).format(table)
    )
    wrapped = psycopg().types.json.Jsonb
    types = ["int8", "text", "text", "jsonb", "vector", "text[]", "int4"][: 2 + len(columns)]
    words = batch.words or [None] * len(batch)
    try:
        if "words" in columns:  # as a list of terms first: there is no binary way in for a tsvector
            connection.execute("ALTER TABLE incoming ALTER words TYPE text[] USING NULL")
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY incoming (place, {listed}) FROM STDIN WITH (FORMAT BINARY)") as copy,
        ):
            copy.set_types(types)
            for place, (id, modality, vector, known, entry) in enumerate(
                zip(batch.ids, batch.modalities, batch.vectors, batch.metadata, words, strict=True)
            ):
                said = (None, None) if entry is None else (_names(id, entry), entry.length)
                row = (place, id, modality, wrapped(known, dumps=_as_it_is), vector, *said)
                copy.write_row(row[: len(types)])
        if "words" in columns:
            connection.execute("ALTER TABLE incoming ALTER words TYPE tsvector USING array_to_tsvector(words)")
    except psycopg().errors.UntranslatableCharacter:
        raise DataError("some metadata holds a zero byte, which PostgreSQL cannot keep; leave it out.") from None


def _names(id: str, entry: EntryWords) -> list[str]:
    """The terms of an item; PostgreSQL itself does not notice when there are too many for it to find them again."""
    names = entry.names()
    if sum(len(name.encode()) for name in names) >= _MOST_BYTES:
        raise DataError(
            f"the text of {id!r} holds more words than PostgreSQL can keep for one item; cut it in passages."
        )
    return names


def _as_it_is(text: str) -> str:
    return text
