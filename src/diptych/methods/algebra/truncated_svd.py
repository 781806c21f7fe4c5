"""The leading singular vectors of a dense matrix, exactly, without computing the others."""

import numpy as np
import scipy.linalg

from diptych._core.arrays import Floats

_FULL_SHARE = 0.3
"""From this share of all components on, one full decomposition is as cheap."""

_SQUARING_LIMIT = 1e-6
"""Squaring a matrix buries singular values below about the root of the machine precision."""


def truncated_svd(matrix: Floats, components: int) -> tuple[Floats, Floats, Floats]:
    """The first singular triplets `matrix ≈ left · diag(values) · right'`, values descending.

    The leading eigenvectors of the smaller of M M' and M' M span the wanted space; a thin decomposition
    inside it then restores the accuracy that squaring lost. A nearly full or nearly singular request takes
    the full decomposition. Each pair of vectors has the sign that makes the left one's largest entry positive.

    Args:
        matrix: any dense matrix.
        components: how many triplets; at most as many as the smaller side has.

    Returns:
        left vectors as columns, values, right vectors as columns.
    """
    smaller = min(matrix.shape)
    components = min(components, smaller)
    triplets = None
    if 0 < components < _FULL_SHARE * smaller:
        triplets = _by_squaring(matrix, components)
    if triplets is None:
        left, values, right = _thin(matrix)
        triplets = left[:, :components], values[:components], right[:, :components]
    return _with_fixed_signs(*triplets)


def _by_squaring(matrix: Floats, components: int) -> tuple[Floats, Floats, Floats] | None:
    """None where the last values are so small that squaring cannot tell them apart."""
    if matrix.shape[0] > matrix.shape[1]:
        turned = _by_squaring(matrix.T, components)
        return None if turned is None else (turned[2], turned[1], turned[0])
    last = matrix.shape[0] - 1
    _, space = scipy.linalg.eigh(
        matrix @ matrix.T, subset_by_index=(last - components + 1, last), overwrite_a=True, check_finite=False
    )
    right, values, turn = _thin(matrix.T @ space)
    if values[-1] <= _SQUARING_LIMIT * values[0]:
        return None
    return space @ turn, values, right


def _thin(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    left, values, right = scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)
    return left, values, right.T


def _with_fixed_signs(left: Floats, values: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
    """Both vectors of a pair change sign together, so their product stays the same."""
    if not len(values):
        return left, values, right
    largest = np.argmax(np.abs(left), axis=0)
    signs = np.where(left[largest, np.arange(left.shape[1])] < 0, -1.0, 1.0)
    return left * signs, values, right * signs
