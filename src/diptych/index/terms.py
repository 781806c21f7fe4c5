"""What an index stores of a text's words, how much each counts in a query, and the score of an item: Okapi BM25.

Every word gives two terms: its stem, by which all its forms find each other, and the form itself, so that the very form
that was typed ranks above the others. A stem is written with a sign in front that no word contains.

The engines' own word indexes say which items hold a term, not how often. That is said by further terms: `dog#2` for
an item that holds `dog` twice or more, `dog#3`, and so on.

    score = sum over the terms of weight · idf · times · (k1 + 1) / (times + k1 · (1 - b + b · length / mean))
    idf = ln(1 + (N - n + 0.5) / (n + 0.5))

N counts the items that have words and n those that hold the term, whatever a search's condition is; `times` is how
often the term occurs in the item, `length` its number of words and `mean` that of all items. k1 and b are those of
SQLite's FTS5. Its idf falls to zero for a word that stands in half of the items; Lucene's, taken here, does not.

Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from diptych.index.words import Word, stem, words_of

STEM = "="
"""Stands before a stem."""
AGAIN = "#"
"""Stands between a term and how often at least it occurs; no word contains it."""
EXACT = 0.25
"""The share of a word's weight that only its own form gets."""
MOST_TIMES = 16
"""A word counts at most so many times in a text; by then it weighs nearly all it can."""
MOST_WORDS = 64
"""Different words of a query that are looked for; the rarest, where there are more."""
_MOST_READ = 10_000
"""Characters of a query that are read at all."""


@dataclass(frozen=True)
class EntryWords:
    """The words of one item as an index keeps them.

    Attributes:
        length: how many words there are.
        times: how often each term occurs, at most `MOST_TIMES`.
        shown: the terms that can be suggested, and how they are written there.
    """

    length: int
    times: dict[str, int]
    shown: dict[str, str]

    def names(self) -> list[str]:
        """The terms and their further terms."""
        names = list(self.times)
        for term, times in self.times.items():
            if times > 1:
                names += [level_of(term, level) for level in range(2, times + 1)]
        return names


def level_of(term: str, times: int) -> str:
    """The name under which items are listed that hold a term so many times or more."""
    return term if times == 1 else f"{term}{AGAIN}{times}"


def entry_words(text: str | None) -> EntryWords | None:
    """What is kept of a text; None if there is no word in it."""
    found = words_of(text) if text else []
    if not found:
        return None
    terms = [word.term for word in found]
    times = Counter(terms + [STEM + stem(term) for term in terms])
    capped = {term: count if count < MOST_TIMES else MOST_TIMES for term, count in times.items()}
    return EntryWords(len(found), capped, {word.term: word.shown for word in found if word.shown})


def query_words(text: str) -> dict[str, set[str]]:
    """The different stems of a query, each with the forms that were typed."""
    forms: dict[str, set[str]] = {}
    for word in words_of(text[:_MOST_READ]):
        forms.setdefault(STEM + stem(word.term), set()).add(word.term)
    return forms


def weighted(forms: dict[str, set[str]]) -> dict[str, float]:
    """The terms of a query and their weights."""
    terms = dict.fromkeys(forms, 1.0 - EXACT)
    terms.update((form, EXACT / len(typed)) for typed in forms.values() for form in typed)
    return terms


def whole_and_pieces(word: str) -> tuple[str | None, list[str]]:
    """The stem of a compound as a whole, None if it is none, and the stems of the pieces (of a plain word: its own)."""
    found: list[Word] = words_of(word)
    stems = [STEM + stem(piece.term) for piece in found]
    if len(stems) > 1 and found[-1].shown:
        return stems[-1], stems[:-1]
    return None, stems


K1 = 1.2
B = 0.75


class WordStatistics(NamedTuple):
    """What an index counts: items that have words, and those that hold each term."""

    entries: int
    holding: Mapping[str, int]


def idf(entries: int, holding: int) -> float:
    """The weight of a term that so many of all items hold; always positive."""
    return math.log1p((entries - holding + 0.5) / (holding + 0.5))


def best_score(terms: Mapping[str, float], statistics: WordStatistics) -> float:
    """The score that no item can exceed: every term is there, and fills a short text."""
    return (K1 + 1) * sum(
        weight * idf(statistics.entries, statistics.holding.get(term, 0)) for term, weight in terms.items()
    )
