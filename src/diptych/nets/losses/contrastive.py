"""Contrastive loss of pairs: similar ones are pulled together, dissimilar ones pushed apart up to a margin."""

from typing import Literal

import torch
from torch import Tensor

from diptych.errors import ConfigError

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
    elif form == "eq5":
        pull, push = squared, (margin - squared).clamp_min(0.0)
    else:
        raise ConfigError(f"the form of the contrastive loss is '{form}'; choose one of hadsell, eq5.")
    return torch.where(similar, pull, push)
