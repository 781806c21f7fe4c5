"""TF-IDF: word counts weighted by how rare the word is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Singles
from diptych._core.progress import Progress, silent
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.text.vocabulary import DEFAULT_MAX_DF, DEFAULT_SIZE, StopWords, Vocabulary, VocabularyRule


@dataclass(frozen=True)
class TfIdf:
    """Rows count(w) · (ln((1 + n) / (1 + df(w))) + 1), brought to length 1, as scikit-learn has them.

    n is the number of training texts and df(w) how many of them hold the word w. The inverse document frequency
    is that of K. Spärck Jones, "A statistical interpretation of term specificity and its application in
    retrieval" (1972), with one text more that holds every word.

    Attributes:
        size: the largest number of words; fewer when the texts hold fewer.
        max_df: see `VocabularyRule`.
        stop_words: see `VocabularyRule`.
    """

    size: int = DEFAULT_SIZE
    max_df: float = DEFAULT_MAX_DF
    stop_words: StopWords = None

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "TfIdfExtractor":
        """Choose the vocabulary and weigh its words; nothing is random."""
        rule = VocabularyRule(self.size, self.max_df, self.stop_words)
        return TfIdfExtractor(rule.fit(items, progress=progress))


@stateful
@dataclass(frozen=True, eq=False)
class TfIdfExtractor:
    """A fitted TF-IDF; a text without a known word gives a row of zeros."""

    vocabulary: Vocabulary

    @property
    def kind(self) -> Kind:
        """Dense."""
        return "dense"

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

    def knows(self, word: str) -> bool:
        """Whether a word counts."""
        return self.vocabulary.knows(word)
