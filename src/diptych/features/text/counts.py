"""Words of a vocabulary, counted (bag of words) or weighted by rarity (tf-idf)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import length_hint
from typing import ClassVar, Literal

import numpy as np

from diptych._core.arrays import Singles, Sparse
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.text import tokenise

StopWords = Literal["english"] | None
DEFAULT_SIZE = 3_000
DEFAULT_MAX_DF = 1.0
"""Keep words however common: in a collection of watches "watch" is one, and weighting by rarity makes them light."""

_REPORT_EVERY = 1_000


@dataclass(frozen=True)
class VocabularyRule:
    """How words are chosen.

    Words can be left out by how many texts they stand in, which knows no language, or by scikit-learn's English list,
    which also holds words such as "fire" and "system"; neither happens unless asked for.

    Attributes:
        size: the largest number of words.
        max_df: the largest share of the texts that a word may stand in; a word of a single text is never too common.
        stop_words: "english" to leave out scikit-learn's list as well.
    """

    size: int = DEFAULT_SIZE
    max_df: float = DEFAULT_MAX_DF
    stop_words: StopWords = None

    def check(self) -> None:
        """Raise a ConfigError for settings out of range."""
        if self.size < 1:
            raise ConfigError(f"the vocabulary's size is {self.size}; it must be 1 or more.")
        if not 0.0 < self.max_df <= 1.0:
            raise ConfigError(f"max_df is {self.max_df}; it is a share of the texts, above 0 and at most 1.")
        if self.stop_words not in ("english", None):
            raise ConfigError(f"stop_words is {self.stop_words!r}; it must be 'english' or None.")

    def fit(self, texts: Iterable[str], *, progress: Progress = silent) -> "Vocabulary":
        """Choose the most frequent words of these texts, the earlier in the alphabet among equals."""
        self.check()
        occurrences: Counter[str] = Counter()
        document_frequency: Counter[str] = Counter()
        total, read = length_hint(texts), 0
        for read, text in enumerate(texts, start=1):
            counted = Counter(tokenise(text))
            occurrences.update(counted)
            document_frequency.update(counted.keys())
            if read % _REPORT_EVERY == 0:
                progress("reading texts", read, max(total, read))
        progress("reading texts", read, read)
        too_common = max(self.max_df * read, 1.0)
        stopped = self._stopped()
        kept = [word for word in occurrences if document_frequency[word] <= too_common and word not in stopped]
        kept.sort(key=lambda word: (-occurrences[word], word))
        if not kept:
            raise FitError(
                f"{read} texts leave no word to learn from ({len(occurrences)} seen, none in at most "
                f"{self.max_df:.0%} of the texts and off the stop list); give more texts or a larger max_df."
            )
        words = tuple(kept[: self.size])
        return SyllableVocabulary(words, np.array([document_frequency[word] for word in words], dtype=np.int64), read)

    def _stopped(self) -> frozenset[str]:
        if self.stop_words is None:
            return frozenset()
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)


@stateful
@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words in the order of their columns, most frequent first; Korean ones are whole, as in models saved before.

    Attributes:
        words: the words.
        document_frequency: how many training texts hold each.
        texts: how many training texts there were.
    """

    words: tuple[str, ...]
    document_frequency: np.ndarray
    texts: int

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def _column(self) -> dict[str, int]:
        return {word: column for column, word in enumerate(self.words)}

    def knows(self, word: str) -> bool:
        """Whether a word, or a part of it, is among the words."""
        return any(token in self._column for token in self._tokens(word))

    def count(self, texts: Sequence[str]) -> Sparse:
        """Count each word of the vocabulary in each text; other words are passed over."""
        indices: list[int] = []
        counts: list[int] = []
        starts = [0]
        for text in texts:
            found = Counter(column for token in self._tokens(text) if (column := self._column.get(token)) is not None)
            columns = sorted(found)
            indices.extend(columns)
            counts.extend(found[column] for column in columns)
            starts.append(len(indices))
        parts = (np.array(counts, np.int32), np.array(indices, np.int32), np.array(starts, np.int32))
        return Sparse(parts, shape=(len(texts), len(self)))

    def _tokens(self, text: str) -> list[str]:
        return tokenise(text, korean_pairs=False)


@stateful
@dataclass(frozen=True, eq=False)
class SyllableVocabulary(Vocabulary):
    """A vocabulary whose Korean words are counted by pairs of syllables."""

    def _tokens(self, text: str) -> list[str]:
        return tokenise(text)


@dataclass(frozen=True)
class _WordFeature:
    """A feature over the most frequent words of the training texts.

    Attributes:
        size: the largest number of words; fewer when the texts hold fewer.
        max_df: see `VocabularyRule`.
        stop_words: see `VocabularyRule`.
    """

    size: int = DEFAULT_SIZE
    max_df: float = DEFAULT_MAX_DF
    stop_words: StopWords = None

    def _vocabulary(self, items: Iterable[str], progress: Progress) -> Vocabulary:
        return VocabularyRule(self.size, self.max_df, self.stop_words).fit(items, progress=progress)


@dataclass(frozen=True, eq=False)
class _WordExtractor:
    """One column a word; a text without a known word gives a row of zeros."""

    vocabulary: Vocabulary

    def knows(self, word: str) -> bool:
        """Whether a word counts."""
        return self.vocabulary.knows(word)


class BagOfWords(_WordFeature):
    """Counts over the most frequent words of the training texts, as a Replicated Softmax reads them."""

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "BagOfWordsExtractor":
        """Choose the vocabulary; nothing is random."""
        return BagOfWordsExtractor(self._vocabulary(items, progress))


@stateful
class BagOfWordsExtractor(_WordExtractor):
    """A fitted bag of words."""

    kind: ClassVar[Kind] = "counts"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One column a word."""
        return (Block("words", 0, len(self.vocabulary), "how often one word of the vocabulary stands in the text"),)

    def __call__(self, items: Sequence[str]) -> Sparse:
        """Count the words of each text."""
        return self.vocabulary.count(items)


class TfIdf(_WordFeature):
    """Rows count(w) · (ln((1 + n) / (1 + df(w))) + 1), brought to length 1, as scikit-learn has them.

    n is the number of training texts and df(w) how many of them hold the word w. The inverse document frequency
    is that of K. Spärck Jones, "A statistical interpretation of term specificity and its application in
    retrieval" (1972), with one text more that holds every word.
    """

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "TfIdfExtractor":
        """Choose the vocabulary and weigh its words; nothing is random."""
        return TfIdfExtractor(self._vocabulary(items, progress))


@stateful
class TfIdfExtractor(_WordExtractor):
    """A fitted TF-IDF."""

    kind: ClassVar[Kind] = "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One column a word."""
        return (Block("weighted words", 0, len(self.vocabulary), "the weight of one word among those of the text"),)

    def __call__(self, items: Sequence[str]) -> Singles:
        """Weigh the words of each text."""
        rarity = np.log((1 + self.vocabulary.texts) / (1 + self.vocabulary.document_frequency)) + 1
        weighted = self.vocabulary.count(items).toarray() * rarity
        lengths = np.sqrt(np.square(weighted).sum(axis=1, keepdims=True))
        return np.asarray(weighted / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
