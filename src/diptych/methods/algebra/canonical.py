"""Canonical correlation of two views whose principal axes are known."""

import numpy as np

from diptych._core.arrays import Floats
from diptych.methods.algebra.truncated_svd import truncated_svd


def canonical_coordinates(
    cross: Floats, variances: tuple[Floats, Floats], ridges: tuple[float, float], components: int
) -> tuple[Floats, Floats, Floats]:
    """Ridge CCA in the coordinates of the views' principal axes.

    Maximises a' C₁₂ b subject to a'(C₁₁ + r₁ I)a = 1 and b'(C₂₂ + r₂ I)b = 1 (Hotelling, "Relations between two
    sets of variates", 1936; the ridge is Vinod's, "Canonical ridge and econometrics of joint production",
    1976): with C = V S² V', the whitened cross-covariance is

        M = diag(s₁ / √(s₁² + r₁)) · U₁'U₂ · diag(s₂ / √(s₂² + r₂)) = P diag(ρ) R'

    and a = V₁ diag(1 / √(s₁² + r₁)) P, b likewise. Only M depends on the ridge. Variances and ridges may be
    counted in any unit as long as it is the same for both.

    Args:
        cross: U₁'U₂.
        variances: s₁² and s₂².
        ridges: r₁ and r₂.
        components: how many to find; fewer are returned when the ranks give no more.

    Returns:
        ρ descending, and the coordinates of a and of b, one column per component.
    """
    first, second = (1.0 / np.sqrt(values + ridge) for values, ridge in zip(variances, ridges, strict=True))
    shrunk = (np.sqrt(variances[0]) * first)[:, None] * cross * (np.sqrt(variances[1]) * second)
    left, correlations, right = truncated_svd(shrunk, components)
    return correlations, first[:, None] * left, second[:, None] * right
