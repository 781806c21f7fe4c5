"""Figures that show whether metric learning works or collapses; none of them is learned from."""

from torch import Tensor


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


def output_spread(outputs: Tensor) -> Tensor:
    """Return the standard deviation of an output over the batch, averaged over units: 0 when codes have collapsed."""
    return outputs.detach().std(0, correction=0).mean()
