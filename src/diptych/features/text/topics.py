"""LDA: a text as a mixture of topics."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Floats, Singles
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.text.topic_inference import infer_topics
from diptych.features.text.vocabulary import DEFAULT_SIZE, StopWords, Vocabulary, VocabularyRule

_MAX_DF = 0.5  # topics are made of the words that tell texts apart; function words would fill them


@dataclass(frozen=True)
class Topics:
    """Latent Dirichlet allocation (D. Blei, A. Ng and M. Jordan, 2003) over a bag of words.

    Learned by scikit-learn's variational Bayes over all texts at once, with both priors 1 / topics.

    Attributes:
        topics: how many.
        size: the largest number of words.
        max_df: see `VocabularyRule`.
        stop_words: see `VocabularyRule`.
        passes: how often to go through the texts.
    """

    topics: int = 10
    size: int = DEFAULT_SIZE
    max_df: float = _MAX_DF
    stop_words: StopWords = None
    passes: int = 20

    def fit(self, items: Iterable[str], *, seed: int = 0, progress: Progress = silent) -> "TopicsExtractor":
        """Choose the vocabulary, then learn what words each topic is made of."""
        if self.topics < 1 or self.passes < 1:
            raise ConfigError(f"there are {self.topics} topics and {self.passes} passes; both must be 1 or more.")
        from sklearn.decomposition import LatentDirichletAllocation

        texts = list(items)
        vocabulary = VocabularyRule(self.size, self.max_df, self.stop_words).fit(texts, progress=progress)
        progress("learning topics", 0, 1)
        model = LatentDirichletAllocation(
            self.topics,
            learning_method="batch",
            max_iter=self.passes,
            random_state=int(generator(seed, "features", "lda").integers(2**31)),
        ).fit(vocabulary.count(texts))
        progress("learning topics", 1, 1)
        word_topics = np.ascontiguousarray(model.exp_dirichlet_component_.T, dtype=np.float64)
        return TopicsExtractor(vocabulary, word_topics, float(model.doc_topic_prior_))


@stateful
@dataclass(frozen=True, eq=False)
class TopicsExtractor:
    """Fitted topics; rows are positive and sum to 1, and a text without a known word has all topics alike.

    Attributes:
        vocabulary: the words.
        word_topics: words × topics, exp(E[log β]).
        prior: the prior of a text's topics.
    """

    vocabulary: Vocabulary
    word_topics: Floats
    prior: float

    @property
    def kind(self) -> Kind:
        """Dense."""
        return "dense"

    @property
    def blocks(self) -> tuple[Block, ...]:
        """One column a topic."""
        return (Block("topics", 0, self.word_topics.shape[1], "the share of one topic in the text"),)

    def __call__(self, items: Sequence[str]) -> Singles:
        """Infer the topics of each text."""
        return infer_topics(self.vocabulary.count(items), self.word_topics, self.prior).astype(np.float32)

    def knows(self, word: str) -> bool:
        """Whether a word counts."""
        return self.vocabulary.knows(word)
