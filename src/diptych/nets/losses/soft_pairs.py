"""The paper's two losses over all cross-modal pairs of a batch, for soft labels and several members at once."""

import torch
from torch import Tensor

_TINY = 1e-12
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
    nearness = (-squared / temperature).masked_fill(~different, _FAR)
    mismatch_of_first = -temperature * nearness.logsumexp(2, keepdim=True)
    mismatch_of_second = -temperature * nearness.logsumexp(1, keepdim=True)
    terms = (2.0 * squared - mismatch_of_first - mismatch_of_second + margin).clamp_min(0.0)
    usable = same & different.any(1, keepdim=True) & different.any(0, keepdim=True)
    return terms * usable


def soft_cross_entropy(logits: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return every member's mean of −Σ t log p over the rows, weighted where weights are given."""
    losses = -(targets * logits.log_softmax(-1)).sum(-1)
    if weights is None:
        return losses.mean(-1)
    return (losses * weights).sum(-1) / weights.sum().clamp_min(_TINY)


def _weighted_mean(terms: Tensor, weights: Tensor) -> Tensor:
    return (terms * weights).sum((1, 2)) / weights.sum().clamp_min(_TINY)
