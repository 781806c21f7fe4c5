"""The engine that stores an index in PostgreSQL: a table, its transactions, and pgvector's graph.

The nearest rows come through the graph, and exactly where the graph gives too few. In an index with binary codes the
graph is one of codes: the rows of the nearest codes are put in the order of their vectors.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.errors import ConfigError
from diptych.index.contract import Index
from diptych.index.filters import Condition
from diptych.index.filters.sql import to_postgresql
from diptych.index.identity import Identity
from diptych.index.items import Batch, Hits, Item
from diptych.index.pgvector import table
from diptych.index.pgvector.connections import Connections, as_array, psycopg
from diptych.index.pgvector.table import Settings, as_bits, insert, read_codes, remove
from diptych.index.pgvector.words import Vocabulary, WordSearch
from diptych.index.remote import Candidates, check_codes, narrowed, page, settled, stored_name
from diptych.index.terms import WordStatistics
from diptych.methods.binary_codes import BinaryCodes

_MOST_CANDIDATES = 1_000
"""The largest hnsw.ef_search; beyond it the graph is walked further by iterative scan."""
_TIMES = 8
"""So many codes for every result, at least."""
_SETTINGS = (
    "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', %s, true),"
    " set_config('enable_indexscan', %s, true)"
)


class Search:
    """One search of some queries inside one transaction, so that all see the same items."""

    def __init__(
        self,
        connection: Any,  # noqa: ANN401 - see connections.py
        table: Any,  # noqa: ANN401
        condition: Condition | None,
        with_metadata: bool,
        settings: Settings,
        codes: BinaryCodes | None,
    ) -> None:
        self._connection, self._with_metadata = connection, with_metadata
        self._settings, self._codes = settings, codes
        self._condition, self._parameters = to_postgresql(condition) if condition else ("true", [])
        columns = "id, modality, vector, metadata" if with_metadata else "id, modality, vector"
        where, by_vector = f"FROM {{}} WHERE {_for_format(self._condition)}", "ORDER BY vector <#> %s LIMIT %s"
        near = f"SELECT {columns} {where} ORDER BY code <~> %s LIMIT %s"
        sql = psycopg().sql
        self._by_vector = sql.SQL(f"SELECT {columns} {where} {by_vector}").format(table)
        self._by_code = sql.SQL(f"SELECT {columns} FROM ({near}) AS near {by_vector}").format(table)

    def nearest(self, queries: Singles, k: int, offset: int, exact: bool) -> list[Hits]:
        """One answer a query; `exact` passes the graph by."""
        demanded = exact
        found = []
        bits = [None] * len(queries) if self._codes is None else as_bits(self._codes, queries)
        for query, code in zip(queries, bits, strict=True):

            def fetch(limit: int, exact: bool, query: Singles = query, code: object = code) -> Candidates:
                return self._fetch(query, code, limit, exact or demanded)

            ordered, scores = settled(query, k + offset, fetch)
            found.append(page(ordered, scores, k, offset, self._with_metadata))
        return found

    def _fetch(self, query: Singles, code: object, limit: int, exact: bool) -> Candidates:
        statement, parameters, near = self._by_vector, [query, limit], limit
        if code is not None and not exact:
            near = max(self._settings.shortlist, _TIMES * limit)
            statement, parameters = self._by_code, [code, near, query, limit]
        kept = min(max(self._settings.ef_search, near), _MOST_CANDIDATES)
        # Without index scans the rows are compared one by one; conditions may still use theirs, which are bitmaps.
        self._connection.execute(_SETTINGS, [str(kept), "off" if exact else "on"])
        rows = self._connection.execute(statement, [*self._parameters, *parameters]).fetchall()
        return Candidates(
            [row[0] for row in rows],
            [row[1] for row in rows],
            np.asarray([as_array(row[2]) for row in rows], np.float32).reshape(len(rows), len(query)),
            [row[3] for row in rows] if self._with_metadata else [],
            all_there_are=exact and len(rows) < limit,
        )


def _for_format(condition: str) -> str:
    """Braces of a condition are text, not places to fill in."""
    return condition.replace("{", "{{").replace("}", "}}")


def create(
    place: Path | str,
    identity: Identity,
    *,
    url: str = "",
    codes: BinaryCodes | None = None,
    **options: Any,  # noqa: ANN401
) -> "PgvectorIndex":
    """Make the table of an empty index and open it.

    Args:
        place: the name of the index.
        identity: what makes the vectors, how long they are, how they are compared.
        url: the address of the database, postgresql://USER:PASSWORD@HOST:PORT/DATABASE.
        codes: how vectors become binary codes, with the option `bits`.
        **options: those of `Settings`.
    """
    settings = Settings.from_options(options, engine="the engine pgvector", besides=("url",))
    check_codes(codes, settings.bits, identity)
    name = stored_name(place)
    with closing(Connections(_checked(url))) as connections, connections.transaction(limited=False) as connection:
        table.make_table(connection, name, identity, settings, codes)
    return PgvectorIndex(place, url)


def open(
    place: Path | str, *, url: str = "", time_limit_s: float | None = 30.0, wait_s: float = 5.0
) -> "PgvectorIndex":
    """Open an index that exists.

    Args:
        place: the name of the index.
        url: the address of the database.
        time_limit_s: how long a query may take before it is cancelled; None for no limit.
        wait_s: how long a change waits for others that change the same items.
    """
    return PgvectorIndex(place, url, time_limit_s=time_limit_s, wait_s=wait_s)


class PgvectorIndex(Index):
    """An index in a table of PostgreSQL; threads may share it, and other processes may open it, too."""

    def __init__(self, place: Path | str, url: str, *, time_limit_s: float | None = 30.0, wait_s: float = 5.0) -> None:
        self._name = stored_name(place)
        self._connections = Connections(_checked(url), time_limit_s=time_limit_s, wait_s=wait_s)
        self._table = psycopg().sql.Identifier(self._name)
        try:
            with self._connections.borrowed() as connection:
                self._identity, self._settings = table.read_head(connection, self._name, self._connections.shown)
                bits = self._settings.bits
                self._codes = read_codes(connection, self._name, bits) if bits else None
            self._vocabulary = Vocabulary(self._name) if self._settings.words else None
        except BaseException:
            self.close()
            raise

    @property
    def has_words(self) -> bool:
        """Whether items can be found by words."""
        return self._vocabulary is not None

    @property
    def identity(self) -> Identity:
        """What made the vectors, how long they are, how they are compared."""
        return self._identity

    def optimise(self) -> None:
        """Build the graph if there is none yet, clear away what was deleted, and count what the planner counts."""
        with self._connections.borrowed(limited=False) as connection:
            table.make_graph(connection, self._name, self._identity, self._settings)
            tables = [self._table] if self._vocabulary is None else [self._table, self._vocabulary.table]
            for each in tables:
                connection.execute(psycopg().sql.SQL("VACUUM (ANALYZE) {}").format(each))

    def snapshot(self, target: Path | str) -> Path:
        """Copy the table to one of its own in the same database; `target` is the name of the new index."""
        name = stored_name(target)
        with self._connections.transaction(repeatable=True, limited=False) as connection:
            table.make_table(connection, name, self._identity, self._settings, self._codes)
            sql = psycopg().sql
            connection.execute(sql.SQL("INSERT INTO {} SELECT * FROM {}").format(sql.Identifier(name), self._table))
            if self._vocabulary is not None:
                Vocabulary(name).copy_from(connection, self._vocabulary)
            if table.has_graph(connection, self._name):
                table.make_graph(connection, name, self._identity, self._settings)
        return Path(target)

    def check_available(self) -> None:
        """Raise an error that says why, if the database does not answer."""
        self._rows("SELECT 1 FROM {} LIMIT 1", [])

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    def _add(self, batch: Batch) -> int:
        with self._connections.transaction(limited=False) as connection:
            return self._insert(connection, batch, replace=False)

    def _update(self, batch: Batch) -> int:
        with self._connections.transaction(limited=False) as connection:
            return self._insert(connection, batch, replace=True)

    def _insert(self, connection: Any, batch: Batch, *, replace: bool) -> int:  # noqa: ANN401 - see connections.py
        return insert(connection, self._table, batch, replace=replace, vocabulary=self._vocabulary, codes=self._codes)

    def _delete(self, ids: list[str]) -> int:
        with self._connections.transaction(limited=False) as connection:
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
    ) -> list[Hits]:
        with self._connections.transaction(repeatable=True) as connection:
            asked = narrowed(condition, modality)
            search = Search(connection, self._table, asked, with_metadata, self._settings, self._codes)
            return search.nearest(queries, k, offset, exact)

    def _search_words(
        self,
        queries: list[dict[str, float]],
        k: int,
        offset: int,
        condition: Condition | None,
        modality: str | None,
        with_metadata: bool,
    ) -> list[Hits]:
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


def _checked(url: str) -> str:
    if not url:
        raise ConfigError(
            "the engine pgvector needs the address of a database; give --url postgresql://USER@HOST:PORT/DATABASE."
        )
    return url
