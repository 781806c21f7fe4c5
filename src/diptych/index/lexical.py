"""The part of the contract that is about words, and the search for words that are spelled nearly like a given one.

An engine that stores words writes the underscored hooks.
"""

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from diptych._core.errors import ConfigError, optional_package
from diptych.index.filters import Condition
from diptych.index.filters.parser import parse
from diptych.index.items import Hits, checked_page, is_plain
from diptych.index.terms import MOST_WORDS, WordStatistics, best_score, query_words, weighted, whole_and_pieces
from diptych.index.words import is_spelled, plain


class Lexical:
    """An index whose items can also be found by their words; without words, every method here is refused."""

    @property
    def has_words(self) -> bool:
        """Whether items can be found by words: chosen when the index is created."""
        return False

    def search_words(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        where: str | Condition | None = None,
        modality: str | None = None,
        offset: int = 0,
        with_metadata: bool = False,
    ) -> list[Hits]:
        """The items that hold words of each query, by BM25: any word may match, scores are positive.

        Args:
            queries: texts as people type them; nothing in them has a special meaning.
            k: how many results each.
            where: only items that meet this condition.
            modality: only items of this modality.
            offset: leave out so many of the best results.
            with_metadata: return what is known of the items found.

        Returns:
            One answer a query; equal scores come by order of ids. Items that hold no word of it are not found.
        """
        checked_page(k, offset)
        self._need_words()
        if modality is not None and not is_plain(modality):
            raise ConfigError(f"modality is {modality!r}; write it in plain Unicode text.")
        condition = parse(where) if isinstance(where, str) else where
        terms = [self._terms(query) for query in _listed(queries)]
        return self._search_words(terms, k, offset, condition, modality, with_metadata)

    def complete(self, prefix: str, limit: int = 10) -> list[tuple[str, int]]:
        """Indexed words that begin so, with how many items hold each, the most frequent first."""
        self._need_words()
        beginning = plain(prefix)
        return self._complete(beginning, _checked_limit(limit)) if beginning else []

    def correct(self, word: str, limit: int = 3) -> list[tuple[str, int]]:
        """Indexed words that are spelled nearly so, with how many items hold each.

        One edit away (a letter more, less, other, or two swapped), two for words of six letters or more; the nearest
        first, then the most frequent. None if the word is indexed in any of its forms.
        """
        limit = _checked_limit(limit)
        if self.word_counts([word])[word]:
            return []
        written = plain(word)
        edits = edits_allowed(written)
        return self._correct(written, edits, limit) if edits else []

    def word_counts(self, words: Sequence[str]) -> dict[str, int]:
        """How many items hold each word in any of its forms; of a compound, the whole or else its rarest piece."""
        self._need_words()
        split = {word: whole_and_pieces(word) for word in _listed(words)}
        terms = {term for whole, pieces in split.values() for term in (*pieces, whole) if term is not None}
        holding = self._word_statistics(sorted(terms)).holding
        counts = {}
        for word, (whole, pieces) in split.items():
            least = min((holding.get(piece, 0) for piece in pieces), default=0)
            counts[word] = (holding.get(whole, 0) if whole else 0) or least
        return counts

    def best_word_scores(self, queries: Sequence[str]) -> list[float]:
        """For each query the score that no item can exceed, so that a score divided by it lies between 0 and 1."""
        self._need_words()
        asked = [self._terms(query) for query in _listed(queries)]
        statistics = self._word_statistics(sorted({term for terms in asked for term in terms}))
        return [best_score(terms, statistics) for terms in asked]

    def _terms(self, query: str) -> dict[str, float]:
        """The weighted terms of a query: of a long one, those of the rarest words that are indexed at all."""
        forms = query_words(query)
        if len(forms) > MOST_WORDS:
            holding = self._word_statistics(sorted(forms)).holding
            rarest = sorted((holding[term], term) for term in forms if holding.get(term))[:MOST_WORDS]
            forms = {term: forms[term] for _, term in rarest}
        return weighted(forms)

    def _need_words(self) -> None:
        if not self.has_words:
            raise ConfigError(
                "this index keeps no words, so it can only be searched by vectors; create it with words=True in an"
                " engine that keeps words (local, pgvector)."
            )

    def _search_words(
        self,
        queries: list[dict[str, float]],
        k: int,
        offset: int,
        condition: Condition | None,
        modality: str | None,
        with_metadata: bool,
    ) -> list[Hits]:
        """Items by BM25; a query is its terms with their weights."""
        raise NotImplementedError

    def _complete(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Words whose plain form begins so."""
        raise NotImplementedError

    def _correct(self, written: str, edits: int, limit: int) -> list[tuple[str, int]]:
        """Words whose plain form is at most so many edits away."""
        raise NotImplementedError

    def _word_statistics(self, terms: Sequence[str]) -> WordStatistics:
        """Counts of terms; those that no item holds may be left out."""
        raise NotImplementedError


def _listed(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise ConfigError(f"a list of texts is wanted, not the text {texts[:40]!r}; put it in a list.")
    for text in texts:
        if not isinstance(text, str):
            raise ConfigError(f"{text!r} is no text; words are looked for in texts.")
    return list(texts)


def _checked_limit(limit: int) -> int:
    if limit < 1:
        raise ConfigError(f"limit is {limit}; ask for at least one word.")
    return limit


_LONG = 6
_SHORT = 3
_MOST = 1_000
"""Near words that are returned; the nearest, where there are more."""

Later = Callable[[int], Sequence[tuple[int, str]]]
"""The words with numbers greater than a given one, in their order."""


def edits_allowed(word: str) -> int:
    """How many edits away a word may be: none for what is not spelled with letters, or too short to be recognised."""
    if len(word) < _SHORT or not is_spelled(word):
        return 0
    return 2 if len(word) >= _LONG else 1


class Spellings:
    """Words by their spelling, as their owner lists them: with rising numbers, so that only new ones must be read.

    Comparing letter by letter is left to the few words that could be near: one edit changes the length by at most one
    and the set of letters by at most two.
    """

    def __init__(self) -> None:
        self._words: list[str] = []
        self._numbers = _Growing(np.int64)
        self._lengths = _Growing(np.int16)
        self._letters = _Growing(np.uint64)
        self._lock = threading.Lock()

    def near(self, word: str, edits: int, later: Later) -> dict[int, tuple[int, bool]]:
        """The numbers of the words at most so many edits away, each with the distance and whether it begins otherwise.

        Args:
            word: what they are compared with.
            edits: letters added, left out, exchanged, or swapped with their neighbours.
            later: reads the words after a number; some of those read before may be gone, their owner will know.
        """
        with self._lock:
            self._catch_up(later)
            letters = np.uint64(_letters(word))
            possible = np.abs(self._lengths.values - len(word)) <= edits
            possible &= np.bitwise_count(self._letters.values ^ letters) <= 2 * edits
            places = np.flatnonzero(possible)
            others = [(int(self._numbers.values[place]), self._words[place]) for place in places.tolist()]
        found = {}
        osa = optional_package("rapidfuzz.distance", "an index with words", "search").OSA
        for number, other in others:
            distance = osa.distance(word, other, score_cutoff=edits)
            if distance <= edits:
                found[number] = (distance, other[:1] != word[:1])
        return dict(sorted(found.items(), key=lambda each: each[1])[:_MOST])

    def _catch_up(self, later: Later) -> None:
        known = self._numbers.values
        fresh = later(int(known[-1]) if len(known) else 0)
        words = [word for _, word in fresh]
        self._words += words
        self._numbers.append([number for number, _ in fresh])
        self._lengths.append([len(word) for word in words])
        self._letters.append([_letters(word) for word in words])


class _Growing:
    """An array with room to grow, so that putting in words one by one stays linear."""

    def __init__(self, dtype: type) -> None:
        self._held: NDArray[np.generic] = np.empty(1_024, dtype)
        self._count = 0

    @property
    def values(self) -> "np.ndarray[tuple[int], np.dtype[np.integer]]":
        return self._held[: self._count]  # type: ignore[return-value]

    def append(self, values: Sequence[int]) -> None:
        needed = self._count + len(values)
        if needed > len(self._held):
            larger = np.empty(max(needed, 2 * len(self._held)), self._held.dtype)
            larger[: self._count] = self._held[: self._count]
            self._held = larger
        self._held[self._count : needed] = values
        self._count = needed


def _letters(word: str) -> int:
    """A set of letters as 64 bits; different letters may share one, which lets too many pass, never too few."""
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return bits
