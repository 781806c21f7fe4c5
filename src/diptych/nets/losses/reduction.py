"""From unreduced terms to one number."""

from typing import Literal

import torch
from torch import Tensor

from diptych.errors import ConfigError

Reduction = Literal["mean", "batch", "sum"]


def reduce_terms(terms: Tensor, weights: Tensor | None, reduction: Reduction, batch_size: int) -> Tensor:
    """Return the weighted sum of the terms, divided as `reduction` says.

    Args:
        terms: losses of pairs or quadruplets, any shape.
        weights: one for each term, 0 for a term that was not selected; None counts every term once.
        reduction: "mean" divides by the sum of the weights, "batch" by the number of items, "sum" by nothing.
        batch_size: number of items of one modality in the batch, for "batch".

    Returns:
        A scalar; 0 with zero gradients when nothing was selected.
    """
    if weights is None:
        weights = torch.ones_like(terms)
    total = (weights * terms).sum()
    if reduction == "sum":
        return total
    if reduction == "batch":
        return total / batch_size
    if reduction != "mean":
        raise ConfigError(f"reduction is '{reduction}'; choose one of mean, batch, sum.")
    weight = weights.sum()
    return total / torch.where(weight > 0, weight, torch.ones_like(weight))
