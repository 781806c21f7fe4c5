"""The table of an index: its settings, how it is made, and how items are written.

What made its vectors is written in the table's comment. The table is made and filled without a graph: building one over
all vectors at once is many times quicker than growing it. `optimise` builds it, and PostgreSQL keeps it up to date from
then on.

An index with words has two more columns: `words` holds the terms of our own tokeniser, so that every language and part
number is found as in the other engines, and `length` how many words there are. Both are null for an item without words.
Beside it stands the table of `words.py`. An index with binary codes has the column `code` of the type bit(n),
and its graph is one of codes; how vectors become codes stands in a table of its own beside it.
"""

from dataclasses import dataclass
from typing import Any

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError, DataError, optional_package
from diptych.index.contract import already_there
from diptych.index.identity import EngineSettings, Identity
from diptych.index.items import Batch
from diptych.index.pgvector.connections import psycopg
from diptych.index.pgvector.words import Vocabulary, make_vocabulary
from diptych.index.remote import codes_from_rows, codes_to_rows, parse_head, write_head
from diptych.index.terms import EntryWords
from diptych.methods.binary_codes import BinaryCodes, check_bits

WIDEST = 16_000
"""Numbers in a vector that pgvector stores."""
WIDEST_GRAPH = 2_000
"""Numbers in a vector that its graph takes; longer ones are compared one by one."""
MOST_CANDIDATES = 100_000


@dataclass(frozen=True)
class Settings(EngineSettings):
    """The choices of this engine.

    Attributes:
        links: neighbours of a vector in the graph.
        ef_construction: candidates kept while the graph is built.
        ef_search: candidates kept while it is searched.
        words: whether items can also be found by words.
        bits: length of the binary codes by which vectors are searched; 0 for none.
        shortlist: how many of the nearest codes are scored by their vectors.
    """

    links: int = 16
    ef_construction: int = 64
    ef_search: int = 64
    words: bool = False
    bits: int = 0
    shortlist: int = 1_000

    def check(self) -> None:
        """Refuse what pgvector would refuse."""
        if not isinstance(self.words, bool):
            raise ConfigError(f"words is {self.words!r}; it must be true or false.")
        if self.bits != 0:
            check_bits(self.bits)
        self.check_between(
            links=(2, 100), ef_construction=(4, 1000), ef_search=(1, 1000), shortlist=(1, MOST_CANDIDATES)
        )
        if self.ef_construction < 2 * self.links:
            raise ConfigError(f"ef_construction is {self.ef_construction}; it must be at least twice links.")


def make_table(
    connection: Any,  # noqa: ANN401 - see connections.py
    name: str,
    identity: Identity,
    settings: Settings,
    codes: BinaryCodes | None,
) -> None:
    """Make an empty table; one of this name must not be there."""
    if identity.dimension > WIDEST:
        raise ConfigError(f"dimension is {identity.dimension}; pgvector stores vectors of at most {WIDEST} numbers.")
    sql = psycopg().sql
    try:
        connection.execute(
            sql.SQL(
                'CREATE TABLE {} (id text COLLATE "C" PRIMARY KEY, modality text COLLATE "C" NOT NULL,'
                " metadata jsonb NOT NULL, vector vector({}) NOT NULL"
                + (f", code bit({settings.bits:d}) NOT NULL" if settings.bits else "")
                + (", words tsvector, length integer)" if settings.words else ")")
            ).format(sql.Identifier(name), sql.Literal(identity.dimension))
        )
    except (psycopg().errors.DuplicateTable, psycopg().errors.UniqueViolation):
        raise DataError(f"an index stored as {name} already exists; choose another name.") from None
    indexes = [("modality", "btree (modality)"), ("metadata", "gin (metadata jsonb_path_ops)")]
    if settings.words:
        indexes.append(("words", "gin (words)"))
        make_vocabulary(connection, name)
    if codes is not None:
        write_codes(connection, name, codes)
    for column, kind in indexes:
        connection.execute(
            sql.SQL("CREATE INDEX {} ON {} USING " + kind).format(
                sql.Identifier(_index_name(name, column)), sql.Identifier(name)
            )
        )
    head = write_head(identity, settings)
    connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(sql.Identifier(name), sql.Literal(head)))


def read_head(connection: Any, name: str, place: str) -> tuple[Identity, Settings]:  # noqa: ANN401 - see connections.py
    """What was fixed when the index was created."""
    row = connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [f'"{name}"']).fetchone()
    return parse_head(row[0], Settings, name, f"PostgreSQL at {place}")


def write_codes(connection: Any, name: str, codes: BinaryCodes) -> None:  # noqa: ANN401 - see connections.py
    """Keep how vectors become codes in a table of its own; no stored name has a point."""
    sql = psycopg().sql
    table = sql.Identifier(f"{name}.codes")
    columns = "name text PRIMARY KEY, columns integer NOT NULL, numbers bytea NOT NULL, checksum bigint NOT NULL"
    connection.execute(sql.SQL(f"CREATE TABLE {{}} ({columns})").format(table))
    for row in codes_to_rows(codes):
        connection.execute(sql.SQL("INSERT INTO {} VALUES (%s, %s, %s, %s)").format(table), row)


def read_codes(connection: Any, name: str, bits: int) -> BinaryCodes:  # noqa: ANN401 - see connections.py
    """How vectors become codes."""
    sql = psycopg().sql
    found = connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(f"{name}.codes"))).fetchall()
    return codes_from_rows(found, bits, name)


def as_bits(codes: BinaryCodes, vectors: Singles) -> list[Any]:
    """The codes of vectors as PostgreSQL takes them."""
    bit = optional_package("pgvector", "the engine pgvector", "pgvector").Bit
    return [bit(row.tobytes()) for row in codes.encode(vectors)]


def make_graph(connection: Any, name: str, identity: Identity, settings: Settings) -> None:  # noqa: ANN401
    """Build the graph if it is not there; changes wait meanwhile, searches do not."""
    if identity.dimension > WIDEST_GRAPH and not settings.bits:
        return
    sql = psycopg().sql
    compared = "code bit_hamming_ops" if settings.bits else "vector vector_ip_ops"
    connection.execute(
        sql.SQL(
            f"CREATE INDEX IF NOT EXISTS {{}} ON {{}} USING hnsw ({compared}) WITH (m = {{}}, ef_construction = {{}})"
        ).format(
            sql.Identifier(_index_name(name, "vector")),
            sql.Identifier(name),
            sql.Literal(settings.links),
            sql.Literal(settings.ef_construction),
        )
    )


def has_graph(connection: Any, name: str) -> bool:  # noqa: ANN401 - see connections.py
    """Whether the graph was built."""
    found = connection.execute("SELECT to_regclass(%s)", [f'"{_index_name(name, "vector")}"']).fetchone()
    return found[0] is not None


def _index_name(name: str, column: str) -> str:
    """Stored names are short enough for PostgreSQL's 63 bytes to leave room for this (see naming.py)."""
    return f"{name}_{column}"


_MOST_BYTES = 2**20
"""Of all terms of an item: what a tsvector has numbers for."""
_TYPES = {
    "modality": "text",
    "metadata": "jsonb",
    "vector": "vector",
    "code": "bit",
    "words": "text[]",
    "length": "int4",
}


def insert(
    connection: Any,  # noqa: ANN401 - see connections.py
    table: Any,  # noqa: ANN401
    batch: Batch,
    *,
    replace: bool,
    vocabulary: Vocabulary | None,
    codes: BinaryCodes | None,
) -> int:
    """Write all items; one that is there already is replaced or refused. Words are written where there is a vocabulary.

    The batch is copied into a table of its own first, which is quicker than a statement for each item, and goes over in
    the order of the ids, so that two writers cannot wait for each other.
    """
    sql = psycopg().sql
    without = {"words", "length"} if vocabulary is None else set()
    without |= {"code"} if codes is None else set()
    columns = tuple(column for column in _TYPES if column not in without)
    if vocabulary is not None:
        vocabulary.take_turns(connection)
    _fill_incoming(connection, table, batch, columns, codes)
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


def _fill_incoming(
    connection: Any,  # noqa: ANN401 - see connections.py
    table: Any,  # noqa: ANN401
    batch: Batch,
    columns: tuple[str, ...],
    codes: BinaryCodes | None,
) -> None:
    sql = psycopg().sql
    listed = ", ".join(("id", *columns))
    connection.execute(
        sql.SQL(
            "CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS"
            f" SELECT 0::bigint AS place, {listed} FROM {{}} WITH NO DATA"
        ).format(table)
    )
    wrapped = psycopg().types.json.Jsonb
    words = batch.words or [None] * len(batch)
    bits: list[Any] = [None] * len(batch) if codes is None else as_bits(codes, batch.vectors)
    try:
        if "words" in columns:  # as a list of terms first: there is no binary way in for a tsvector
            connection.execute("ALTER TABLE incoming ALTER words TYPE text[] USING NULL")
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY incoming (place, {listed}) FROM STDIN WITH (FORMAT BINARY)") as copy,
        ):
            copy.set_types(["int8", "text", *(_TYPES[column] for column in columns)])
            for place, (id, modality, vector, known, code, entry) in enumerate(
                zip(batch.ids, batch.modalities, batch.vectors, batch.metadata, bits, words, strict=True)
            ):
                row: tuple[Any, ...] = (place, id, modality, wrapped(known, dumps=_as_it_is), vector)
                row += () if codes is None else (code,)
                if "words" in columns:
                    row += (None, None) if entry is None else (_names(id, entry), entry.length)
                copy.write_row(row)
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
