"""Topics: latent Dirichlet allocation learned from training texts, inferred for any text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import psi

from diptych._core.arrays import Floats, Singles, Sparse
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress, silent
from diptych._core.seeding import generator
from diptych._core.state import stateful
from diptych.data.modality import Kind
from diptych.features.contract import Block
from diptych.features.text.counts import DEFAULT_SIZE, StopWords, Vocabulary, VocabularyRule

_EPSILON = float(np.finfo(np.float64).eps)


def infer_topics(
    counts: Sparse, word_topics: Floats, prior: float, *, iterations: int = 100, tolerance: float = 1e-3
) -> Floats:
    """Infer each text's share of topics: the E-step of variational Bayes for latent Dirichlet allocation.

    For each text repeat, until its γ moves by less than the tolerance in the mean,
    γ_k = α + θ_k Σ_w n_w β_wk / (Σ_j θ_j β_wj) with θ_k = exp(ψ(γ_k) − ψ(Σ_j γ_j)),
    after M. Hoffman, D. Blei and F. Bach, "Online learning for latent Dirichlet allocation" (2010), algorithm 1.

    All texts that have not settled move together. Every sum runs over one text's words in their order, never
    through a matrix product whose rounding depends on its size, so that a row does not depend on the others.

    Args:
        counts: texts × words.
        word_topics: β, words × topics: exp(E[log β]) under the fitted topics.
        prior: α, the prior of a text's topics.
        iterations: the largest number of rounds.
        tolerance: the mean change of γ at which a text has settled.

    Returns:
        texts × topics, rows summing to 1; a text without a known word gets all topics alike.
    """
    gamma = np.ones((counts.shape[0], word_topics.shape[1]))
    moving = np.arange(counts.shape[0])
    for _ in range(iterations):
        if not len(moving):
            break
        before = gamma[moving]
        after = _update(counts[moving], before, word_topics, prior)
        gamma[moving] = after
        moving = moving[_row_sums(np.abs(after - before)) / gamma.shape[1] >= tolerance]
    return np.asarray(gamma / _row_sums(gamma)[:, None])


def _update(counts: Sparse, gamma: Floats, word_topics: Floats, prior: float) -> Floats:
    theta = np.exp(psi(gamma) - psi(_row_sums(gamma))[:, None])
    text = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    likelihood = np.full(len(text), _EPSILON)
    for topic in range(word_topics.shape[1]):
        likelihood += theta[text, topic] * word_topics[counts.indices, topic]
    responsibility = Sparse((counts.data / likelihood, counts.indices, counts.indptr), shape=counts.shape)
    return np.asarray(prior + theta * (responsibility @ word_topics))


def _row_sums(values: Floats) -> Floats:
    """Sum along rows column by column: the rounding does not depend on the number of rows."""
    total = np.zeros(len(values))
    for column in values.T:
        total += column
    return total


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

    kind: ClassVar[Kind] = "dense"

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
