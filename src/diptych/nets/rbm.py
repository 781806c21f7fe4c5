"""Restricted Boltzmann machines with Gaussian or binary visible units, and the completion of missing modalities."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

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

    def visible_energy(self, v: Tensor) -> Tensor:
        """Return the part of the energy that no hidden unit takes part in, for every row: −bᵀv."""
        return -(v @ self.visible_bias)

    def free_energy(self, v: Tensor) -> Tensor:
        """Return F(v) = −log Σ_h exp(−E(v, h)) for every row; exact only when both gains are 1."""
        # Beyond the threshold softplus(x) is taken as x; torch's default of 20 is visible in double precision.
        return self.visible_energy(v) - functional.softplus(self.hidden_input(v), threshold=50).sum(1)

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

    def visible_energy(self, v: Tensor) -> Tensor:
        """Return ½‖v − b‖²."""
        return 0.5 * (v - self.visible_bias).square().sum(1)


class BernoulliRBM(RestrictedBoltzmannMachine):
    """Binary visible units, in one group or several with names.

    E(v, h) = −bᵀv − cᵀh − vᵀWh; both conditionals are sigmoids (Smolensky 1986). Rows may hold probabilities.
    Each group has its own weights and bias: a block of rows of W and a stretch of b. A row holds the groups side by
    side in the order given, so that one product serves them all.

    Args:
        visible: number of visible units, or the number in each named group.
        hidden: number of hidden units.
        random: the source of the weights.
        weight_std: see `RestrictedBoltzmannMachine`.
        up_gain: see `RestrictedBoltzmannMachine`.
        down_gain: see `RestrictedBoltzmannMachine`.
    """

    def __init__(
        self,
        visible: int | Mapping[str, int],
        hidden: int,
        *,
        random: torch.Generator,
        weight_std: float | None = None,
        up_gain: float = 1.0,
        down_gain: float = 1.0,
    ) -> None:
        groups = {"visible": visible} if isinstance(visible, int) else dict(visible)
        super().__init__(
            sum(groups.values()), hidden, random=random, weight_std=weight_std, up_gain=up_gain, down_gain=down_gain
        )
        self.groups = groups

    def visible_mean(self, h: Tensor, size: Tensor | None = None) -> Tensor:
        """Return σ(b + Wh)."""
        return self.visible_input(h).sigmoid_()

    def sample_visible(self, h: Tensor, random: torch.Generator, size: Tensor | None = None) -> Tensor:
        """Draw every unit from Bernoulli(σ(b + Wh))."""
        return sample_binary(self.visible_mean(h), random)

    def columns(self, group: str) -> slice:
        """Return where a group stands in a row."""
        if group not in self.groups:
            raise ConfigError(f"the visible group '{group}' is unknown; this machine has {', '.join(self.groups)}.")
        names = list(self.groups)
        start = sum(self.groups[name] for name in names[: names.index(group)])
        return slice(start, start + self.groups[group])

    def join(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Put the groups side by side in this machine's order."""
        return torch.cat([parts[name] for name in self.groups], dim=1)

    def split(self, v: Tensor) -> dict[str, Tensor]:
        """Return the groups of joined rows as views."""
        return {name: v[:, self.columns(name)] for name in self.groups}


@dataclass(frozen=True)
class Completion:
    """What a joint machine makes of some of its visible groups.

    Attributes:
        visible: every group: those given as they were, the others generated.
        joint: the hidden probabilities, given all of them.
    """

    visible: dict[str, Tensor]
    joint: Tensor


@torch.no_grad()
def complete(rbm: BernoulliRBM, known: Mapping[str, Tensor], iterations: int = 10) -> Completion:
    """Infer the missing groups of a joint machine, the top of a multimodal DBN (Srivastava and Salakhutdinov 2012).

    The missing groups start at zero; then, `iterations` times, h ← σ(Σ_m v_m W_m + c) and each missing
    v_m ← σ(W_m h + b_m). A last upward pass gives the joint embedding. With nothing missing that pass is all there is.

    Args:
        rbm: a trained machine with named groups.
        known: rows of at least one group.
        iterations: number of mean-field rounds; 10 in the published configurations.
    """
    unknown = [name for name in known if name not in rbm.groups]
    if not known or unknown:
        raise ConfigError(f"the groups given are {list(known)}; give one or more of {', '.join(rbm.groups)}.")
    rows = next(iter(known.values()))
    visible = {name: known.get(name, rows.new_zeros(len(rows), size)) for name, size in rbm.groups.items()}
    state = rbm.join(visible)
    missing = [rbm.columns(name) for name in rbm.groups if name not in known]
    for _ in range(iterations if missing else 0):
        guess = rbm.visible_mean(rbm.hidden_probability(state))
        for columns in missing:
            state[:, columns] = guess[:, columns]
    return Completion(rbm.split(state), rbm.hidden_probability(state))
