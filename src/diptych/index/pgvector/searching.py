"""The nearest rows of the table: through the graph, and exactly where the graph gives too few."""

from typing import Any

import numpy as np

from diptych._core.arrays import Singles
from diptych.index.filters import Condition
from diptych.index.items import Found
from diptych.index.pgvector.filters import to_postgresql
from diptych.index.pgvector.libraries import as_array, psycopg
from diptych.index.remote.ranking import Candidates, page, settled

_MOST_CANDIDATES = 1_000
"""The largest hnsw.ef_search; beyond it the graph is walked further by iterative scan."""
_SETTINGS = (
    "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', %s, true),"
    " set_config('enable_indexscan', %s, true)"
)


class Search:
    """One search of some queries inside one transaction, so that all see the same items."""

    def __init__(self, connection: Any, table: Any, condition: Condition | None, with_metadata: bool) -> None:  # noqa: ANN401
        self._connection, self._with_metadata = connection, with_metadata
        self._condition, self._parameters = to_postgresql(condition) if condition else ("true", [])
        columns = "id, modality, vector, metadata" if with_metadata else "id, modality, vector"
        statement = f"SELECT {columns} FROM {{}} WHERE {_for_format(self._condition)} ORDER BY vector <#> %s LIMIT %s"
        self._statement = psycopg().sql.SQL(statement).format(table)

    def nearest(self, queries: Singles, k: int, offset: int, ef_search: int, exact: bool) -> list[Found]:
        """One answer a query; `exact` passes the graph by."""
        demanded = exact
        found = []
        for query in queries:

            def fetch(limit: int, exact: bool, query: Singles = query) -> Candidates:
                return self._fetch(query, limit, exact or demanded, min(max(ef_search, limit), _MOST_CANDIDATES))

            ordered, scores = settled(query, k + offset, fetch)
            found.append(page(ordered, scores, k, offset, self._with_metadata))
        return found

    def _fetch(self, query: Singles, limit: int, exact: bool, ef_search: int) -> Candidates:
        # Without index scans the rows are compared one by one; conditions may still use theirs, which are bitmaps.
        self._connection.execute(_SETTINGS, [str(ef_search), "off" if exact else "on"])
        rows = self._connection.execute(self._statement, [*self._parameters, query, limit]).fetchall()
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
