"""Losses as pure functions that return unreduced terms, their reduction, and figures that show a collapse."""

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor

ContrastiveForm = Literal["hadsell", "eq5"]

_TINY = 1e-12
"""Added under the root, whose slope at exactly zero is infinite."""


def contrastive_terms(squared: Tensor, similar: Tensor, margin: float, form: ContrastiveForm = "hadsell") -> Tensor:
    """Return the loss of each pair, unreduced, in the shape of `squared`.

    With D = a − b the difference of a pair's outputs, d its length and α the margin:

    - "hadsell": ½d² if similar, ½max(0, α − d)² otherwise (Hadsell et al. 2006). Its derivative by a is D if similar
      and −(α − d)·D/d otherwise, where d < α: the gradients printed in CDMLMR (Huang and Peng 2017), with their
      sgn(D) read as the unit vector D/d.
    - "eq5": d² if similar, max(0, α − d²) otherwise: equation 5 of that paper, whose derivative is not the printed
      one. Margins of the two forms correspond as α_eq5 ≈ α_hadsell².

    Args:
        squared: squared distances d².
        similar: whether each pair is similar, boolean.
        margin: α, a distance in the "hadsell" form and a squared distance in "eq5".
        form: which of the two.
    """
    if form == "hadsell":
        pull, push = 0.5 * squared, 0.5 * (margin - (squared + _TINY).sqrt()).clamp_min(0.0).square()
    else:
        pull, push = squared, (margin - squared).clamp_min(0.0)
    return torch.where(similar, pull, push)


def squared_distances(first: Tensor, second: Tensor) -> Tensor:
    """Return ‖a_p − b_q‖² for every row p of `first` and q of `second`, as ‖a‖² + ‖b‖² − 2ab clamped at 0.

    One matrix product instead of all differences: the differences would be as many rows as there are pairs.
    """
    norms = first.square().sum(1).unsqueeze(1) + second.square().sum(1).unsqueeze(0)
    return (norms - 2.0 * first @ second.t()).clamp_min(0.0)


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


_FAR = -1e9


def unit_squared_distances(first: Tensor, second: Tensor) -> Tensor:
    """Return ‖a_p − b_q‖² of rows of length one, for every member: 2 − 2ab, clamped at 0."""
    return (2.0 - 2.0 * torch.bmm(first, second.transpose(1, 2))).clamp_min(0.0)


def soft_contrastive_loss(squared: Tensor, pull: Tensor, push: Tensor, margin: float) -> Tensor:
    """Return every member's contrastive loss: the weighted mean of ½d² plus that of ½max(0, α − d)².

    A pair may be pulled and pushed at once, each by its share: with soft labels t the weights are t·t' and 1 − t·t'.
    With 0 and 1 these are the two terms of Hadsell et al. (2006), similar and dissimilar pairs counting alike.

    Args:
        squared: squared distances, members × rows × rows.
        pull: how much each pair is similar.
        push: how much each pair is dissimilar.
        margin: α.
    """
    near = 0.5 * _weighted_mean(squared, pull)
    return near + 0.5 * _weighted_mean((margin - (squared + _TINY).sqrt()).clamp_min(0.0).square(), push)


def softmin_quadruplet_terms(
    squared: Tensor, same: Tensor, different: Tensor, margin: float, temperature: float = 0.1
) -> Tensor:
    """Return the ranking loss of every pair of one class against its nearest mismatches; 0 for other pairs.

    The term of a pair is max(0, 2d²(a, b) − d²(a, B⁻) − d²(A⁻, b) + β), where the mismatches of a and of b are not
    drawn: d²(a, B⁻) is a soft minimum over all rows b⁻ of the batch that belong to another class, and likewise A⁻.

    Args:
        squared: squared distances, members × rows × rows.
        same: which pairs are of one class.
        different: which pairs are known to be of different classes.
        margin: β.
        temperature: of the soft minimum.
    """
    of_first, of_second = _soft_mismatches(squared, different, temperature)
    return (2.0 * squared - of_first - of_second + margin).clamp_min(0.0) * _usable(same, different)


def softmin_triplet_terms(
    squared: Tensor, same: Tensor, different: Tensor, margin: float, temperature: float = 0.1
) -> Tensor:
    """Return the triplet loss of every pair of one class, with either side as the anchor; 0 for other pairs.

    The term of a pair is max(0, d²(a, b) − d²(a, B⁻) + m) + max(0, d²(a, b) − d²(A⁻, b) + m). A quadruplet has one
    hinge that weighs both mismatches together; here each anchor has its own (after Wang et al. 2014). Mismatches are
    soft minima over the batch, as in `softmin_quadruplet_terms`.

    Args:
        squared: squared distances, members × rows × rows.
        same: which pairs are of one class.
        different: which pairs are known to be of different classes.
        margin: m, a squared distance.
        temperature: of the soft minimum.
    """
    of_first, of_second = _soft_mismatches(squared, different, temperature)
    terms = (squared - of_first + margin).clamp_min(0.0) + (squared - of_second + margin).clamp_min(0.0)
    return terms * _usable(same, different)


def _soft_mismatches(squared: Tensor, different: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return the soft minimum of the squared distances from every row to its mismatches, on either side."""
    nearness = (-squared / temperature).masked_fill(~different, _FAR)
    return -temperature * nearness.logsumexp(2, keepdim=True), -temperature * nearness.logsumexp(1, keepdim=True)


def _usable(same: Tensor, different: Tensor) -> Tensor:
    """Return which pairs are of one class and have mismatches on both sides."""
    return same & different.any(1, keepdim=True) & different.any(0, keepdim=True)


def have_several_classes(targets: Tensor) -> bool:
    """Return whether a row has two classes or more that are equally probable, as an item with several labels has."""
    highest = targets.amax(1, keepdim=True)
    return bool(((targets == highest) & (highest > 0)).sum(1).gt(1).any())


def pairs_of_one_class(targets: Tensor, others: Tensor | None = None, *, several: bool) -> Tensor:
    """Return which rows share their most probable class, or one of their classes where rows have several.

    Args:
        targets: class probabilities of rows.
        others: of the rows to compare them with; None for the same.
        several: whether rows have several classes.
    """
    others = targets if others is None else others
    if not several:
        return targets.argmax(1).unsqueeze(1) == others.argmax(1).unsqueeze(0)
    carried, carried_by_others = (
        (each > 0.5 * each.amax(1, keepdim=True)).to(each.dtype) for each in (targets, others)
    )
    return carried @ carried_by_others.t() > 0


def soft_cross_entropy(logits: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return every member's mean of −Σ t log p over the rows, weighted where weights are given."""
    losses = -(targets * logits.log_softmax(-1)).sum(-1)
    if weights is None:
        return losses.mean(-1)
    return (losses * weights).sum(-1) / weights.sum().clamp_min(_TINY)


def _weighted_mean(terms: Tensor, weights: Tensor) -> Tensor:
    return (terms * weights).sum((1, 2)) / weights.sum().clamp_min(_TINY)


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
    weight = weights.sum()
    return total / torch.where(weight > 0, weight, torch.ones_like(weight))


def pair_figures(squared: Tensor, similar: Tensor, weights: Tensor, terms: Tensor) -> dict[str, Tensor]:
    """Return the mean distances of the selected pairs and the share of active hinges.

    Means are weighted like the loss. A figure about pairs of which none was selected is NaN.

    Args:
        squared: squared distances of all pairs.
        similar: whether each pair is similar.
        weights: selection weights, 0 for a pair that was not selected.
        terms: contrastive loss of all pairs; a dissimilar pair within the margin has a term above 0.
    """
    squared, terms = squared.detach(), terms.detach()
    distance, pulled, pushed = squared.sqrt(), weights * similar, weights * ~similar
    return {
        "similar_distance": (distance * pulled).sum() / pulled.sum(),
        "dissimilar_distance": (distance * pushed).sum() / pushed.sum(),
        "active_hinges": (pushed * (terms > 0)).sum() / pushed.sum(),
    }


def active_share(terms: Tensor) -> Tensor:
    """Return the share of terms above 0, such as quadruplets that still violate their margin; NaN for no terms."""
    terms = terms.detach()
    return (terms > 0).to(terms.dtype).mean()


def sign_gap(outputs: Tensor) -> Tensor:
    """Return for each member how far outputs of length one are from codes: the mean of (√d |z| − 1)².

    It is 0 where every unit is 1/√d or −1/√d, whose signs then are the output itself.
    """
    return (outputs.abs() * math.sqrt(outputs.shape[-1]) - 1.0).square().mean((1, 2))


def output_spread(outputs: Tensor) -> Tensor:
    """Return the standard deviation of an output over the batch, averaged over units: 0 when all rows are alike."""
    return outputs.detach().std(0, correction=0).mean()
