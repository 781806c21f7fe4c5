"""Restricted Boltzmann machines with Gaussian, binary or count units, and the completion of missing modalities."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from diptych._core.errors import ConfigError


def sample_binary(probability: Tensor, random: torch.Generator) -> Tensor:
    """Draw units that are one with the given probabilities, else zero."""
    # A third of the time of torch.bernoulli on a processor; the draws are as good.
    uniform = torch.rand(probability.shape, generator=random, dtype=probability.dtype, device=probability.device)
    return (uniform < probability).to(probability.dtype)


class RestrictedBoltzmannMachine(nn.Module, ABC):
    """One layer of visible units v, one of binary hidden units h, weights W between them and none within.

    The gains multiply W in one direction only. At 1 (the default) this is an ordinary machine; other values serve
    the pretraining of deep Boltzmann machines (Salakhutdinov and Hinton 2009) and of text layers.

    Args:
        visible: number of visible units.
        hidden: number of hidden units.
        random: the source of the weights.
        weight_std: their standard deviation; None means 1/√hidden. Biases start at zero.
        up_gain: factor of W on the way up.
        down_gain: factor of W on the way down.
    """

    def __init__(
        self,
        visible: int,
        hidden: int,
        *,
        random: torch.Generator,
        weight_std: float | None = None,
        up_gain: float = 1.0,
        down_gain: float = 1.0,
    ) -> None:
        super().__init__()
        std = 1.0 / sqrt(hidden) if weight_std is None else weight_std
        self.weight = nn.Parameter(torch.empty(visible, hidden).normal_(0.0, std, generator=random))
        self.visible_bias = nn.Parameter(torch.zeros(visible))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.up_gain = up_gain
        self.down_gain = down_gain

    def hidden_input(self, v: Tensor) -> Tensor:
        """Return c + vW for every row."""
        return torch.addmm(self.hidden_bias, v, self.weight, alpha=self.up_gain)

    def hidden_probability(self, v: Tensor) -> Tensor:
        """Return p(h = 1 | v) = σ(c + vW)."""
        return self.hidden_input(v).sigmoid_()

    def visible_input(self, h: Tensor) -> Tensor:
        """Return b + Wh for every row."""
        return torch.addmm(self.visible_bias, h, self.weight.t(), alpha=self.down_gain)

    @abstractmethod
    def visible_mean(self, h: Tensor, size: Tensor | None = None) -> Tensor:
        """Return E[v | h]; `size` is what `size(v)` said of the rows to be reconstructed."""

    @abstractmethod
    def sample_visible(self, h: Tensor, random: torch.Generator, size: Tensor | None = None) -> Tensor:
        """Draw v from p(v | h)."""

    def size(self, v: Tensor) -> Tensor | None:
        """Return what a reconstruction must know of each row besides h; nothing, but for counts."""
        return None

    def statistics(self, v: Tensor) -> Tensor:
        """Return the form in which visible rows enter the gradient."""
        return v

    def reconstruction_error(self, observed: Tensor, fantasy: Tensor) -> Tensor:
        """Return the mean squared difference of two matrices of visible statistics."""
        return functional.mse_loss(fantasy, observed)


class GaussianRBM(RestrictedBoltzmannMachine):
    """Real visible units of variance one; give it standardised rows.

    E(v, h) = ½‖v − b‖² − cᵀh − vᵀWh, p(v | h) = N(b + Wh, I)   (Hinton and Salakhutdinov 2006).
    The variance is fixed, never learned: standardisation replaces it.
    """

    def visible_mean(self, h: Tensor, size: Tensor | None = None) -> Tensor:
        """Return b + Wh."""
        return self.visible_input(h)

    def sample_visible(self, h: Tensor, random: torch.Generator, size: Tensor | None = None) -> Tensor:
        """Draw from N(b + Wh, I)."""
        mean = self.visible_input(h)
        return mean + torch.randn(mean.shape, generator=random, dtype=mean.dtype, device=mean.device)


class BernoulliRBM(RestrictedBoltzmannMachine):
    """Binary visible units, in one group or several with names.

    E(v, h) = −bᵀv − cᵀh − vᵀWh; both conditionals are sigmoids (Smolensky 1986). Rows may hold probabilities.
    Each group has its own weights and bias: a block of rows of W and a stretch of b. A row holds the groups side by
    side in the order given, so that one product serves them all.

    Args:
        visible: number of visible units, or the number in each named group.
        hidden: number of hidden units.
        options: see `RestrictedBoltzmannMachine`.
    """

    def __init__(self, visible: int | Mapping[str, int], hidden: int, **options: Any) -> None:  # noqa: ANN401
        groups = {"visible": visible} if isinstance(visible, int) else dict(visible)
        super().__init__(sum(groups.values()), hidden, **options)
        self.groups = groups

    def visible_mean(self, h: Tensor, size: Tensor | None = None) -> Tensor:
        """Return σ(b + Wh)."""
        return self.visible_input(h).sigmoid_()

    def sample_visible(self, h: Tensor, random: torch.Generator, size: Tensor | None = None) -> Tensor:
        """Draw every unit from Bernoulli(σ(b + Wh))."""
        return sample_binary(self.visible_mean(h), random)

    def columns(self, group: str) -> slice:
        """Return where a group stands in a row."""
        names = list(self.groups)
        start = sum(self.groups[name] for name in names[: names.index(group)])
        return slice(start, start + self.groups[group])


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
            raise ConfigError(f"document_length is {document_length}; give a whole number above 0, or None for actual.")
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
            raise ConfigError("documents have their actual lengths; pass size=machine.size(v) to reconstruct them.")
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
