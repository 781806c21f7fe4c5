"""Contrastive divergence, which trains every restricted Boltzmann machine, and its sparsity penalty."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from diptych._core.errors import ConfigError
from diptych.nets.rbm import RestrictedBoltzmannMachine, sample_binary
from diptych.nets.row_source import RowSource


class SparsityPenalty(nn.Module):
    """Pulls the mean activity q of every hidden unit towards a target ρ (Lee et al. 2007; rule of CMDN's toolkit).

    q ← decay·q + (1 − decay)·mean over the batch of p(h = 1 | v), starting at ρ;  s = cost·(q − ρ)/(q(1 − q)).

    Args:
        hidden: number of hidden units.
        target: ρ, between 0 and 1.
        cost: strength of the pull.
        decay: memory of the running mean.
    """

    activity: Tensor

    def __init__(self, hidden: int, target: float, cost: float, decay: float = 0.9) -> None:
        super().__init__()
        if not 0.0 < target < 1.0:
            raise ConfigError(f"the sparsity target is {target}; it must lie between 0 and 1.")
        self.target = target
        self.cost = cost
        self.decay = decay
        self.register_buffer("activity", torch.full((hidden,), target))

    def update(self, batch_activity: Tensor) -> Tensor:
        """Move the running mean and return s for every hidden unit."""
        self.activity.mul_(self.decay).add_(batch_activity, alpha=1.0 - self.decay)
        q = self.activity.clamp(1e-6, 1.0 - 1e-6)
        return self.cost * (q - self.target) / (q * (1.0 - q))


Order = Callable[[int], int]
"""How many reconstructions a step makes."""


def constant_order(count: int = 1) -> Order:
    """Always make `count` reconstructions."""
    if count < 1:
        raise ConfigError(f"the order of contrastive divergence is {count}; it must be at least 1.")
    return lambda step: count


def step_up_order(start: int, every: int) -> Order:
    """Make one reconstruction before step `start`, then 2 + ⌊(step − start)/every⌋ (CMDN configuration)."""
    if every < 1:
        raise ConfigError(f"the order of contrastive divergence steps up every {every} steps; it must be at least 1.")
    return lambda step: 1 if step < start else 2 + (step - start) // every


class ContrastiveDivergence:
    """CD-k (Hinton 2002) with probabilities in the statistics and samples only to drive the reconstruction.

        h⁺ = p(h | v⁺);  ĥ ~ h⁺;  k times: v⁻ = E[v | ĥ], h⁻ = p(h | v⁻), ĥ ~ h⁻
        G_W = (v⁺ᵀ(h⁺ − s) − v⁻ᵀh⁻)/B,  G_c = mean(h⁺) − mean(h⁻) − s,  G_b = mean(v⁺) − mean(v⁻)

    −G is left in `.grad`; rate, momentum and weight decay belong to the optimizer. s is the sparsity penalty.

    Args:
        rbm: the machine to train.
        data: its training rows.
        order: k as a function of the step.
        sparsity: the penalty, or None for none.
        sample_visible_from: the step from which v⁻ is a sample instead of the mean; None means never.
    """

    module: nn.Module

    def __init__(
        self,
        rbm: RestrictedBoltzmannMachine,
        data: RowSource,
        *,
        order: Order | None = None,
        sparsity: SparsityPenalty | None = None,
        sample_visible_from: int | None = None,
    ) -> None:
        self.rbm = rbm
        self.data = data
        self.order = constant_order() if order is None else order
        self.sparsity = sparsity
        self.sample_visible_from = sample_visible_from
        self.module = nn.ModuleDict({"rbm": rbm} if sparsity is None else {"rbm": rbm, "sparsity": sparsity})

    def __len__(self) -> int:
        """Return the number of training rows."""
        return len(self.data)

    @torch.no_grad()
    def gradients(self, rows: Tensor, step: int, random: torch.Generator) -> dict[str, Tensor]:
        """Leave −G in `.grad` and return the reconstruction error, the mean activity and the share of idle units.

        The error is that of the first reconstruction, so it stays comparable when the order steps up. A unit is idle
        when its mean activity over the batch is below 0.01 or above 0.99.
        """
        rbm = self.rbm
        observed = self.data[rows]
        positive = rbm.hidden_probability(observed)
        size = rbm.size(observed)
        observed = rbm.statistics(observed)
        activity = positive.mean(0)
        hidden, error = positive, activity
        for repeat in range(self.order(step)):
            fantasy = self._reconstruct(sample_binary(hidden, random), size, step, random)
            hidden = rbm.hidden_probability(fantasy)
            if repeat == 0:
                error = rbm.reconstruction_error(observed, rbm.statistics(fantasy))
        self._leave(observed, positive, activity, rbm.statistics(fantasy), hidden)
        idle = ((activity < 0.01) | (activity > 0.99)).to(activity.dtype).mean()
        return {"reconstruction_error": error, "mean_activity": activity.mean(), "idle_units": idle}

    def _reconstruct(self, sample: Tensor, size: Tensor | None, step: int, random: torch.Generator) -> Tensor:
        if self.sample_visible_from is not None and step >= self.sample_visible_from:
            return self.rbm.sample_visible(sample, random, size)
        return self.rbm.visible_mean(sample, size)

    def _leave(self, observed: Tensor, positive: Tensor, activity: Tensor, fantasy: Tensor, hidden: Tensor) -> None:
        """Write −G over `.grad`, reusing its memory where the loop has kept it."""
        rbm, share = self.rbm, 1.0 / len(observed)
        hidden_bias = hidden.mean(0) - activity
        if self.sparsity is not None:
            penalty = self.sparsity.update(activity)
            positive = positive - penalty
            hidden_bias += penalty
        weight = torch.empty_like(rbm.weight) if rbm.weight.grad is None else rbm.weight.grad
        torch.mm(fantasy.t(), hidden, out=weight)
        rbm.weight.grad = weight.addmm_(observed.t(), positive, beta=share, alpha=-share)
        rbm.hidden_bias.grad = hidden_bias
        rbm.visible_bias.grad = fantasy.mean(0) - observed.mean(0)
