"""Quadruplet ranking loss: a cross-modal pair of one class must be closer than both of its mismatches."""

from typing import NamedTuple

from torch import Tensor

from diptych.nets.losses.squared_distance import squared_distances


class Quadruplets(NamedTuple):
    """Row numbers of quadruplets, four vectors of equal length.

    The positives of the two modalities share a class that neither negative has.
    """

    first_positive: Tensor
    second_positive: Tensor
    first_negative: Tensor
    second_negative: Tensor


def quadruplet_terms(first: Tensor, second: Tensor, quadruplets: Quadruplets, margin: float) -> Tensor:
    """Return max(0, 2‖a⁺ − b⁺‖² − ‖a⁺ − b⁻‖² − ‖a⁻ − b⁺‖² + β) of each quadruplet (CDMLMR, Huang and Peng 2017).

    Args:
        first: outputs a of one modality, one row an item.
        second: outputs b of the other modality.
        quadruplets: which rows are compared.
        margin: β, a squared distance.
    """
    squared = squared_distances(first, second)
    together = squared[quadruplets.first_positive, quadruplets.second_positive]
    apart_second = squared[quadruplets.first_positive, quadruplets.second_negative]
    apart_first = squared[quadruplets.first_negative, quadruplets.second_positive]
    return (2.0 * together - apart_second - apart_first + margin).clamp_min(0.0)
