"""The table of an index; who made its vectors is written in the table's comment.

The table is made and filled without a graph: building one over all vectors at once is many times quicker than growing
it. `optimise` builds it, and PostgreSQL keeps it up to date from then on.

An index with words has two more columns: `words` holds the terms of our own tokeniser, so that every language and part
number is found as in the other engines, and `length` how many words there are. Both are null for an item without words.
Beside it stands the table of `vocabulary.py`.
"""

from typing import Any

from diptych._core.errors import ConfigError, DataError
from diptych.index.identity import Identity
from diptych.index.pgvector.libraries import psycopg
from diptych.index.pgvector.settings import WIDEST, WIDEST_GRAPH, Settings
from diptych.index.pgvector.vocabulary import make_vocabulary
from diptych.index.remote.head import parse_head, write_head


def make_table(connection: Any, name: str, identity: Identity, settings: Settings) -> None:  # noqa: ANN401
    """Make an empty table; one of this name must not be there."""
    if identity.dimension > WIDEST:
        raise ConfigError(f"dimension is {identity.dimension}; pgvector stores vectors of at most {WIDEST} numbers.")
    sql = psycopg().sql
    try:
        connection.execute(
            sql.SQL(
                'CREATE TABLE {} (id text COLLATE "C" PRIMARY KEY, modality text COLLATE "C" NOT NULL,'
                " metadata jsonb NOT NULL, vector vector({}) NOT NULL"
                + (", words tsvector, length integer)" if settings.words else ")")
            ).format(sql.Identifier(name), sql.Literal(identity.dimension))
        )
    except (psycopg().errors.DuplicateTable, psycopg().errors.UniqueViolation):
        raise DataError(f"an index stored as {name} already exists; choose another name.") from None
    indexes = [("modality", "btree (modality)"), ("metadata", "gin (metadata jsonb_path_ops)")]
    if settings.words:
        indexes.append(("words", "gin (words)"))
        make_vocabulary(connection, name)
    for column, kind in indexes:
        connection.execute(
            sql.SQL("CREATE INDEX {} ON {} USING " + kind).format(
                sql.Identifier(_index_name(name, column)), sql.Identifier(name)
            )
        )
    head = write_head(identity, settings)
    connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(name), sql.Literal(head)))


def read_head(connection: Any, name: str, place: str) -> tuple[Identity, Settings]:  # noqa: ANN401 - see libraries.py
    """What was fixed when the index was created."""
    row = connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [f'"{name}"']).fetchone()
    return parse_head(row[0], Settings, name, f"PostgreSQL at {place}")


def make_graph(connection: Any, name: str, identity: Identity, settings: Settings) -> None:  # noqa: ANN401
    """Build the graph if it is not there; changes wait meanwhile, searches do not."""
    if identity.dimension > WIDEST_GRAPH:
        return
    sql = psycopg().sql
    connection.execute(
        sql.SQL(
            "CREATE INDEX IF NOT EXISTS {} ON {} USING hnsw (vector vector_ip_ops) WITH (m = {}, ef_construction = {})"
        ).format(
            sql.Identifier(_index_name(name, "vector")),
            sql.Identifier(name),
            sql.Literal(settings.links),
            sql.Literal(settings.ef_construction),
        )
    )


def has_graph(connection: Any, name: str) -> bool:  # noqa: ANN401 - see libraries.py
    """Whether the graph was built."""
    found = connection.execute("SELECT to_regclass(%s)", [f'"{_index_name(name, "vector")}"']).fetchone()
    return found[0] is not None


def _index_name(name: str, column: str) -> str:
    """Stored names are short enough for PostgreSQL's 63 bytes to leave room for this (see naming.py)."""
    return f"{name}_{column}"
