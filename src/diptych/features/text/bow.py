"""Bag of words: how often each word of a vocabulary stands in a text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diptych._core.arrays import Sparse
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.text.vocabulary import DEFAULT_MAX_DF, DEFAULT_SIZE, StopWords, Vocabulary, VocabularyRule


@dataclass(frozen=True)
class BagOfWords:
    """Counts over the most frequent words of the training texts, as a Replicated Softmax reads them.

    Attributes:
        size: the largest number of words; fewer when the texts hold fewer.
        max_df: see `VocabularyRule`.
        stop_words: see `VocabularyRule`.
    """

    size: int = DEFAULT_SIZE
    max_df: float = DEFAULT_MAX_DF
    stop_words: StopWords = None

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "BagOfWordsExtractor":
        """Choose the vocabulary; nothing is random."""
        rule = VocabularyRule(self.size, self.max_df, self.stop_words)
        return BagOfWordsExtractor(rule.fit(items, progress=progress))


@stateful
@dataclass(frozen=True, eq=False)
class BagOfWordsExtractor:
    """A fitted bag of words; a text without a known word gives a row of zeros."""

    vocabulary: Vocabulary

    @property
    def kind(self) -> Kind:
        """Counts."""
        return "counts"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One column a word."""
        return (Block("words", 0, len(self.vocabulary), "how often one word of the vocabulary stands in the text"),)

    def __call__(self, items: Sequence[str]) -> Sparse:
        """Count the words of each text."""
        return self.vocabulary.count(items)

    def knows(self, word: str) -> bool:
        """Whether a word counts."""
        return self.vocabulary.knows(word)
