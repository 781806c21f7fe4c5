"""Which topics a text is about, given what words each topic is made of."""

import numpy as np
from scipy.special import psi

from diptych._core.arrays import Floats, Sparse

_EPSILON = float(np.finfo(np.float64).eps)


def infer_topics(
    counts: Sparse, word_topics: Floats, prior: float, *, iterations: int = 100, tolerance: float = 1e-3
) -> Floats:
    """Infer each text's share of topics: the E-step of variational Bayes for latent Dirichlet allocation.

    For each text repeat, until its γ moves by less than the tolerance in the mean,
    γ_k = α + θ_k Σ_w n_w β_wk / (Σ_j θ_j β_wj) with θ_k = exp(ψ(γ_k) − ψ(Σ_j γ_j)),
    after M. Hoffman, D. Blei and F. Bach, "Online learning for latent Dirichlet allocation" (2010), algorithm 1.

    All texts that have not settled move together. Every sum runs over one text's words in their order, never
    through a matrix product whose rounding depends on its size, so that a row is the same in any company.

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
