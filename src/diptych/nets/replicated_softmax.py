"""Replicated Softmax: a machine whose visible layer is the word counts of a document."""

import torch
from torch import Tensor
from torch.nn import functional

from diptych._core.errors import ConfigError
from diptych.nets.rbm import RestrictedBoltzmannMachine


class ReplicatedSoftmax(RestrictedBoltzmannMachine):
    """Counts v over a vocabulary, N = Σ_k v_k words, the hidden bias scaled by N (Salakhutdinov and Hinton 2009).

    E(v, h) = −vᵀWh − bᵀv − N cᵀh,  p(h_j = 1 | v) = σ(N c_j + gain·vᵀW_j),  v | h ~ Multinomial(N, softmax(b + Wh)).

    The length rule and the gain belong to the machine, so inference applies them exactly as training did.
    An empty document has length 0: its embedding is σ(0) everywhere and it adds nothing to the gradient.

    Args:
        vocabulary: number of words.
        hidden: number of hidden units.
        random: the source of the weights.
        weight_std: standard deviation of the weights at the start (1e-5 in the CMDN configuration).
        document_length: every document is rescaled to this many words (100 in the CMDN configuration); None keeps the
            true counts.
        up_gain: factor of W on the way up (10 in the CMDN configuration, which makes up for the tiny start). Only
            with 1 is the machine a probability model.
        down_gain: factor of W on the way down.
    """

    def __init__(
        self,
        vocabulary: int,
        hidden: int,
        *,
        random: torch.Generator,
        weight_std: float | None = 1e-5,
        document_length: int | None = 100,
        up_gain: float = 10.0,
        down_gain: float = 1.0,
    ) -> None:
        super().__init__(vocabulary, hidden, random=random, weight_std=weight_std, up_gain=up_gain, down_gain=down_gain)
        if document_length is not None and document_length < 1:
            raise ConfigError(
                f"document_length is {document_length}; give a positive whole number, or none for actual."
            )
        self.document_length = document_length

    def size(self, v: Tensor) -> Tensor:
        """Return N for every row: the fixed length (0 for an empty document) or the true number of words."""
        words = v.sum(1)
        return words if self.document_length is None else (words > 0).to(v.dtype) * self.document_length

    def statistics(self, v: Tensor) -> Tensor:
        """Return v/N: statistics are per word, so that long documents do not dominate the gradient."""
        return v / v.sum(1, keepdim=True).clamp_min(1e-10)

    def scaled(self, v: Tensor) -> Tensor:
        """Return the counts brought to the fixed document length, if there is one; doing it twice changes nothing."""
        return v if self.document_length is None else self.statistics(v) * self.document_length

    def hidden_input(self, v: Tensor) -> Tensor:
        """Return N c + gain·vW for every row."""
        return torch.addmm(torch.outer(self.size(v), self.hidden_bias), self.scaled(v), self.weight, alpha=self.up_gain)

    def word_probability(self, h: Tensor) -> Tensor:
        """Return p(word = k | h) = softmax(b + Wh)."""
        return functional.softmax(self.visible_input(h), dim=1)

    def visible_mean(self, h: Tensor, size: Tensor | None = None) -> Tensor:
        """Return N·p(word | h)."""
        return self.word_probability(h) * self._length(h, size).unsqueeze(1)

    def sample_visible(self, h: Tensor, random: torch.Generator, size: Tensor | None = None) -> Tensor:
        """Draw N words for every row from p(word | h) and count them."""
        return multinomial_counts(self.word_probability(h), self._length(h, size), random)

    def visible_energy(self, v: Tensor) -> Tensor:
        """Return −bᵀv; the log multinomial coefficient is left out, as usual for this model."""
        return -(self.scaled(v) @ self.visible_bias)

    def reconstruction_error(self, observed: Tensor, fantasy: Tensor) -> Tensor:
        """Return the squared distance between word frequencies, averaged over documents."""
        return (observed - fantasy).square().sum(1).mean()

    def start_from_unigram(self, counts: Tensor) -> None:
        """Set b to the log word frequencies of a corpus (its counts summed over documents, plus one each)."""
        smoothed = counts.to(self.visible_bias) + 1.0
        with torch.no_grad():
            self.visible_bias.copy_(smoothed.log() - smoothed.sum().log())

    def _length(self, h: Tensor, size: Tensor | None) -> Tensor:
        if size is not None:
            return size
        if self.document_length is None:
            raise ConfigError(
                "documents have their actual lengths here; pass size=machine.size(v) to reconstruct them."
            )
        return h.new_full((len(h),), float(self.document_length))


def multinomial_counts(probability: Tensor, lengths: Tensor, random: torch.Generator) -> Tensor:
    """Draw Multinomial(N_r, p_r) for every row r at once.

    All rows draw as many words as the longest needs; words past a row's own length count zero.
    """
    wanted = lengths.round().long()
    longest = int(wanted.max()) if len(wanted) else 0
    counts = torch.zeros_like(probability)
    if longest == 0:
        return counts
    words = torch.multinomial(probability, longest, replacement=True, generator=random)
    counted = torch.arange(longest, device=words.device) < wanted.unsqueeze(1)
    return counts.scatter_add_(1, words, counted.to(counts.dtype))
