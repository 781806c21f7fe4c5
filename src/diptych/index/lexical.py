"""The part of the contract that is about words. An engine that keeps words writes the underscored hooks."""

from collections.abc import Sequence

from diptych._core.errors import ConfigError
from diptych.index.filters import Condition, parse
from diptych.index.items import Hits, checked_page, is_plain
from diptych.index.spelling import edits_allowed
from diptych.index.terms import MOST_WORDS, WordStatistics, best_score, query_words, weighted, whole_and_pieces
from diptych.index.words import lexical_tokens, plain


class Lexical:
    """An index whose entries can also be found by their words; without words, every method here is refused."""

    @property
    def has_words(self) -> bool:
        """Whether entries can be found by words: chosen when the index is created."""
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
        """The entries that hold words of each query, by BM25: any word may match, scores are positive.

        Args:
            queries: texts as people type them; nothing in them has a special meaning.
            k: how many results each.
            where: only entries that meet this condition.
            modality: only entries of this modality.
            offset: leave out so many of the best results.
            with_metadata: return what is known of the entries found.

        Returns:
            One answer a query; equal scores come by order of ids. Entries that hold no word of it are not found.
        """
        checked_page(k, offset)
        self._need_words()
        if modality is not None and not is_plain(modality):
            raise ConfigError(f"modality is {modality!r}; write it in plain Unicode text.")
        condition = parse(where) if isinstance(where, str) else where
        terms = [self._terms(query) for query in _listed(queries)]
        return self._search_words(terms, k, offset, condition, modality, with_metadata)

    @staticmethod
    def lexical_tokens(text: str) -> list[str]:
        """The words of a text as an index sees them."""
        return lexical_tokens(text)

    def complete(self, prefix: str, limit: int = 10) -> list[tuple[str, int]]:
        """Indexed words that begin so, with how many entries hold each, the most frequent first."""
        self._need_words()
        beginning = plain(prefix)
        return self._complete(beginning, _checked_limit(limit)) if beginning else []

    def correct(self, word: str, limit: int = 3) -> list[tuple[str, int]]:
        """Indexed words that are spelled nearly so, with how many entries hold each.

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
        """How many entries hold each word in any of its forms; of a compound, the whole or else its rarest piece."""
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
        """For each query the score that no entry can exceed, so that a score divided by it lies between 0 and 1."""
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
        """Entries by BM25; a query is its terms with their weights."""
        raise NotImplementedError

    def _complete(self, beginning: str, limit: int) -> list[tuple[str, int]]:
        """Words whose plain form begins so."""
        raise NotImplementedError

    def _correct(self, written: str, edits: int, limit: int) -> list[tuple[str, int]]:
        """Words whose plain form is at most so many edits away."""
        raise NotImplementedError

    def _word_statistics(self, terms: Sequence[str]) -> WordStatistics:
        """Counts of terms; those that no entry holds may be left out."""
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
