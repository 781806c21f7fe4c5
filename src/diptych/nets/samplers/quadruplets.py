"""Quadruplets of labelled items, drawn without rejection."""

import torch
from torch import Tensor

from diptych.nets.losses.quadruplet import Quadruplets

_WIDE = 2**62
"""Range of the whole numbers whose remainders pick an item: so wide that no remainder is favoured."""


def sample_quadruplets(labels: Tensor, per_item: int, random: torch.Generator) -> Quadruplets:
    """Draw `per_item` quadruplets for each labelled item on average (CDMLMR, Huang and Peng 2017).

    The first positive is uniform over all items, the second uniform over the items of its class, both negatives
    uniform over the items of other classes and independent of each other.

    Args:
        labels: classes of the labelled items of the batch, the same in both modalities.
        per_item: r, quadruplets for each item.
        random: the only source of the draws.

    Returns:
        Row numbers; none when the items are of a single class, where no negative exists.
    """
    count = len(labels)
    if count == 0 or bool((labels == labels[0]).all()):
        return Quadruplets(*torch.zeros(4, 0, dtype=torch.int64, device=labels.device))
    # Sorted by class, the members of a class are a run, and all others the rest of the circle after it.
    order = labels.argsort(stable=True)
    sizes = (labels.unsqueeze(0) == labels.unsqueeze(1)).sum(1)
    starts = (labels.unsqueeze(0) < labels.unsqueeze(1)).sum(1)

    draws = torch.randint(_WIDE, (4, per_item * count), generator=random, device=labels.device)
    first_positive = draws[0] % count
    size, start = sizes[first_positive], starts[first_positive]
    second_positive = order[start + draws[1] % size]
    negatives = order[(start + size + draws[2:] % (count - size)) % count]
    return Quadruplets(first_positive, second_positive, negatives[0], negatives[1])
