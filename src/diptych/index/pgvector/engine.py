"""The engine that keeps an index in PostgreSQL: a table, its transactions, and pgvector's graph."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError
from diptych.index.bm25 import WordStatistics
from diptych.index.contract import Index
from diptych.index.filters import Condition
from diptych.index.identity import Identity
from diptych.index.items import Batch, Found, Item
from diptych.index.pgvector import schema
from diptych.index.pgvector.connections import Connections
from diptych.index.pgvector.filters import to_postgresql
from diptych.index.pgvector.lexical import WordSearch
from diptych.index.pgvector.libraries import as_array, psycopg
from diptych.index.pgvector.searching import Search
from diptych.index.pgvector.settings import Settings
from diptych.index.pgvector.vocabulary import Vocabulary
from diptych.index.pgvector.writes import insert, remove
from diptych.index.remote.naming import stored_name
from diptych.index.remote.narrowing import narrowed


def create(place: Path | str, identity: Identity, *, url: str = "", **options: Any) -> "PgvectorIndex":  # noqa: ANN401
    """Make the table of an empty index and open it.

    Args:
        place: the name of the index.
        identity: who makes the vectors, how long they are, how they are compared.
        url: the address of the database, postgresql://USER:PASSWORD@HOST:PORT/DATABASE.
        **options: those of `Settings`.
    """
    settings = Settings.from_options(options, engine="the engine pgvector", besides=("url",))
    name = stored_name(place)
    with closing(_connections(url)) as connections, connections.transaction() as connection:
        schema.make_table(connection, name, identity, settings)
    return PgvectorIndex(place, url)


def open(place: Path | str, *, url: str = "") -> "PgvectorIndex":
    """Open an index that exists.

    Args:
        place: the name of the index.
        url: the address of the database.
    """
    return PgvectorIndex(place, url)


class PgvectorIndex(Index):
    """An index in a table of PostgreSQL; threads may share it, and other processes may open it, too."""

    def __init__(self, place: Path | str, url: str) -> None:
        self._name = stored_name(place)
        self._connections = _connections(url)
        self._table = psycopg().sql.Identifier(self._name)
        try:
            with self._connections.borrowed() as connection:
                self._identity, self._settings = schema.read_head(connection, self._name, self._connections.shown)
            self._vocabulary = Vocabulary(self._name) if self._settings.words else None
        except BaseException:
            self.close()
            raise

    @property
    def has_words(self) -> bool:
        """Whether entries can be found by words."""
        return self._vocabulary is not None

    @property
    def identity(self) -> Identity:
        """Who made the vectors, how long they are, how they are compared."""
        return self._identity

    def optimise(self) -> None:
        """Build the graph if there is none yet, clear away what was deleted, and count what the planner counts."""
        with self._connections.borrowed() as connection:
            schema.make_graph(connection, self._name, self._identity, self._settings)
            tables = [self._table] if self._vocabulary is None else [self._table, self._vocabulary.table]
            for table in tables:
                connection.execute(psycopg().sql.SQL("VACUUM (ANALYZE) {}").format(table))

    def snapshot(self, target: Path | str) -> Path:
        """Copy the table to one of its own in the same database; `target` is the name of the new index."""
        name = stored_name(target)
        with self._connections.transaction(repeatable=True) as connection:
            schema.make_table(connection, name, self._identity, self._settings)
            sql = psycopg().sql
            connection.execute(sql.SQL("INSERT INTO {} SELECT * FROM {}").format(sql.Identifier(name), self._table))
            if self._vocabulary is not None:
                Vocabulary(name).copy_from(connection, self._vocabulary)
            if schema.has_graph(connection, self._name):
                schema.make_graph(connection, name, self._identity, self._settings)
        return Path(target)

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _add(self, batch: Batch) -> int:
        with self._connections.transaction() as connection:
            return insert(connection, self._table, batch, replace=False, vocabulary=self._vocabulary)

    def _update(self, batch: Batch) -> int:
        with self._connections.transaction() as connection:
            return insert(connection, self._table, batch, replace=True, vocabulary=self._vocabulary)

    def _delete(self, ids: list[str]) -> int:
        with self._connections.transaction() as connection:
            return remove(connection, self._table, ids, self._vocabulary)

    def _get(self, ids: list[str]) -> dict[str, Item]:
        rows = self._rows("SELECT id, modality, vector, metadata FROM {} WHERE id = ANY(%s)", [ids])
        return {row[0]: Item(row[0], row[1], as_array(row[2]), row[3]) for row in rows}

    def _count(self, condition: Condition | None) -> int:
        where, parameters = to_postgresql(condition) if condition else ("true", [])
        return int(self._rows("SELECT count(*) FROM {} WHERE ", parameters, where)[0][0])

    def _list_ids(self, condition: Condition | None, limit: int) -> list[str]:
        where, parameters = to_postgresql(condition) if condition else ("true", [])
        rows = self._rows("SELECT id FROM {} WHERE ", [*parameters, limit], where + " ORDER BY id LIMIT %s")
        return [row[0] for row in rows]

    def _search(
        self,
        queries: Singles,
        k: int,
        offset: int,
        condition: Condition | None,
        modality: str | None,
        with_metadata: bool,
        exact: bool,
    ) -> list[Found]:
        with self._connections.transaction(repeatable=True) as connection:
            search = Search(connection, self._table, narrowed(condition, modality), with_metadata)
            return search.nearest(queries, k, offset, self._settings.ef_search, exact)

    def _search_words(
        self,
        queries: list[dict[str, float]],
        k: int,
        offset: int,
        condition: Condition | None,
        modality: str | None,
        with_metadata: bool,
    ) -> list[Found]:
        with self._connections.transaction(repeatable=True) as connection:
            asked = narrowed(condition, modality)
            search = WordSearch(connection, self._table, self._words(), asked, with_metadata)
            return [search.best(terms, k, offset) for terms in queries]

    def _complete(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        with self._connections.borrowed() as connection:
            return self._words().complete(connection, beginning, limit)

    def _correct(self, written: str, edits: int, limit: int) -> list[tuple[str, int]]:
        with self._connections.borrowed() as connection:
            return self._words().correct(connection, written, edits, limit)

    def _word_statistics(self, terms: Sequence[str]) -> WordStatistics:
        with self._connections.borrowed() as connection:
            return self._words().statistics(connection, terms)

    def _words(self) -> Vocabulary:
        if self._vocabulary is None:
            raise ConfigError("this index keeps no words; create it with words=True.")
        return self._vocabulary

    def _rows(self, start: str, parameters: list[Any], rest: str = "") -> list[Any]:
        """The rows of a statement that starts with the table's place and ends as a filter says."""
        sql = psycopg().sql
        statement = sql.SQL(start).format(self._table) + sql.SQL(rest)
        with self._connections.borrowed() as connection:
            found: list[Any] = connection.execute(statement, parameters).fetchall()
        return found


def _connections(url: str) -> Connections:
    if not url:
        raise ConfigError(
            "the engine pgvector needs the address of a database; give --url postgresql://USER@HOST:PORT/DATABASE."
        )
    return Connections(url)
