"""The lexical score of an entry: Okapi BM25.

    score = sum over the terms of weight · idf · times · (k1 + 1) / (times + k1 · (1 - b + b · length / mean))
    idf = ln(1 + (N - n + 0.5) / (n + 0.5))

N counts the entries that have words and n those that hold the term, whatever a search's condition is; `times` is how
often the term occurs in the entry, `length` its number of words and `mean` that of all entries. k1 and b are those of
SQLite's FTS5. Its idf falls to zero for a word that stands in half of the entries; Lucene's, taken here, does not.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

K1 = 1.2
B = 0.75


class WordStatistics(NamedTuple):
    """What an index counts: entries that have words, and those that hold each term."""

    entries: int
    holding: Mapping[str, int]


def idf(entries: int, holding: int) -> float:
    """How much a term tells that so many of all entries hold; always positive."""
    return math.log1p((entries - holding + 0.5) / (holding + 0.5))


def best_score(terms: Mapping[str, float], statistics: WordStatistics) -> float:
    """The score that no entry can exceed: every term is there, and fills a short text."""
    return (K1 + 1) * sum(
        weight * idf(statistics.entries, statistics.holding.get(term, 0)) for term, weight in terms.items()
    )
