"""Squared Euclidean distances of all pairs of rows."""

from torch import Tensor


def squared_distances(first: Tensor, second: Tensor) -> Tensor:
    """Return ‖a_p − b_q‖² for every row p of `first` and q of `second`, as ‖a‖² + ‖b‖² − 2ab clamped at 0.

    One matrix product instead of all differences: the differences would be as many rows as there are pairs.
    """
    norms = first.square().sum(1).unsqueeze(1) + second.square().sum(1).unsqueeze(0)
    return (norms - 2.0 * first @ second.t()).clamp_min(0.0)
