"""BM25 in PostgreSQL: its word index finds the entries that hold a term, and the score is computed there, too.

Where a query has frequent words beside rare ones, only entries that hold a rare one are scored first. If the last one
wanted scores higher than the frequent words alone could, that was enough.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from diptych.index.bm25 import K1, B, idf
from diptych.index.filters import Condition
from diptych.index.items import Found
from diptych.index.pgvector.filters import to_postgresql
from diptych.index.pgvector.libraries import psycopg
from diptych.index.pgvector.vocabulary import ALL_ENTRIES, ALL_WORDS, Vocabulary
from diptych.index.terms import level_of

_RARE = 2_000
"""Entries that hold some of the rarest terms, which are looked at first."""
_ROUNDING = 1 - 1e-6
"""Scores are compared in single precision."""


class _Term:
    """A term of a query: weight and idf in one number, how many entries hold it, how often at most one does."""

    def __init__(self, name: str, gain: float, holding: int, most_times: int) -> None:
        self.name, self.gain, self.holding, self.most_times = name, gain, holding, most_times

    @property
    def most(self) -> float:
        """What it adds to the score of an entry at most: of a short text that holds it as often as any does."""
        return self.gain * (K1 + 1) * self.most_times / (self.most_times + K1 * (1 - B))

    def scored(self) -> tuple[str, list[Any]]:
        """The part of the score that it makes, as an expression over `words` and `damped`, and its parameters."""
        names = [quoted(level_of(self.name, times)) for times in range(1, self.most_times + 1)]
        times = " + ".join(["1", *["(words @@ %s::tsquery)::int"] * (len(names) - 1)])
        expression = (
            "CASE WHEN words @@ %s::tsquery"
            f" THEN (SELECT %s::float8 * t / (t + damped) FROM (SELECT {times} AS t) AS c) ELSE 0 END"
        )
        return expression, [names[0], self.gain, *names[1:]]


class WordSearch:
    """Searches by words inside one transaction, so that all see the same entries."""

    def __init__(
        self,
        connection: Any,  # noqa: ANN401 - see libraries.py
        table: Any,  # noqa: ANN401
        vocabulary: Vocabulary,
        condition: Condition | None,
        with_metadata: bool,
    ) -> None:
        self._connection, self._table, self._with_metadata = connection, table, with_metadata
        self._vocabulary = vocabulary
        self._condition, self._parameters = to_postgresql(condition) if condition else ("true", [])
        connection.execute("SELECT set_config('jit', 'off', true)")  # compiling such a query takes longer than it does

    def best(self, weights: Mapping[str, float], k: int, offset: int) -> Found:
        """The entries from `offset` to `offset + k` in the order of their scores, equal ones by id."""
        terms, mean = self._terms(weights)
        rows: list[Any] = []
        if terms:
            rare = _rarest(terms)
            rows = self._scored(terms, terms[:rare], mean, k + offset)
            needed = _needed(terms, rows[-1][2] if len(rows) == k + offset else 0.0)
            if needed > rare:
                rows = self._scored(terms, terms[:needed], mean, k + offset)
        page = rows[offset:]
        return Found(
            tuple(row[0] for row in page),
            np.array([row[2] for row in page], np.float32),
            tuple(row[1] for row in page),
            tuple(row[3] for row in page) if self._with_metadata else None,
        )

    def _terms(self, weights: Mapping[str, float]) -> tuple[list[_Term], float]:
        """Those of the terms that some entry holds, the rarest first, and the mean length of a text."""
        counted = self._vocabulary.counted(self._connection, list(weights))
        entries, _ = counted.pop(ALL_ENTRIES, (0, 1))
        words, _ = counted.pop(ALL_WORDS, (0, 1))
        terms = [
            _Term(name, weights[name] * idf(entries, holding), holding, most)
            for name, (holding, most) in counted.items()
        ]
        return sorted(terms, key=lambda term: (term.holding, term.name)), words / entries if entries else 1.0

    def _scored(self, terms: list[_Term], required: list[_Term], mean: float, limit: int) -> list[Any]:
        """The best entries that hold one of the required terms, by all terms."""
        parts = [term.scored() for term in terms]
        columns = "id, modality, score, metadata" if self._with_metadata else "id, modality, score"
        # Rounded to single precision before they are compared, as everywhere: what is equal then comes by id.
        statement = (
            psycopg()
            .sql.SQL(
                f"SELECT {columns} FROM (SELECT id, modality, metadata,"
                f" (%s::float8 * ({' + '.join(part for part, _ in parts)}))::float4 AS score"
                " FROM (SELECT id, modality, metadata, words, %s::float8 + %s::float8 * length AS damped"
                f" FROM {{}} WHERE words @@ %s::tsquery AND {_for_format(self._condition)} OFFSET 0) AS holding)"
                " AS scored ORDER BY score DESC, id LIMIT %s"
            )
            .format(self._table)
        )
        wanted = " | ".join(quoted(term.name) for term in required)
        parameters = [K1 + 1, *(value for _, values in parts for value in values), K1 * (1 - B), K1 * B / mean, wanted]
        found: list[Any] = self._connection.execute(statement, [*parameters, *self._parameters, limit]).fetchall()
        return found


def quoted(term: str) -> str:
    """A term as PostgreSQL's word queries read it: in quotes, so that nothing in it means anything."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _rarest(terms: list[_Term]) -> int:
    """How many of the first terms are held by few entries; at least one."""
    total, kept = 0, 0
    for term in terms:
        total += term.holding
        if kept and total > _RARE:
            break
        kept += 1
    return kept


def _needed(terms: list[_Term], least: float) -> int:
    """How many of the first terms an entry must hold one of to score as much: the others do not suffice."""
    others, needed = 0.0, len(terms)
    while needed > 1 and others + terms[needed - 1].most < least * _ROUNDING:
        needed -= 1
        others += terms[needed].most
    return needed


def _for_format(condition: str) -> str:
    """Braces of a condition are text, not places to fill in."""
    return condition.replace("{", "{{").replace("}", "}}")
