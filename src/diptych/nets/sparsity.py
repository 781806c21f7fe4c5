"""The sparsity penalty on hidden activity."""

import torch
from torch import Tensor, nn

from diptych.errors import ConfigError


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
