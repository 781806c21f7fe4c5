"""Canonical correlation of any number of views at once."""

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from diptych._core.arrays import Floats
from diptych.methods.algebra.spectrum import Spectrum

_BEYOND_ROUNDING = 1e-9


def multiview_coordinates(
    views: Sequence[Spectrum], ridges: Sequence[float], components: int
) -> tuple[Floats, list[Floats]]:
    """The leading solutions of S w = λ D w, in the coordinates of each view's principal axes.

    S holds the covariances of all views, D its diagonal blocks; the ridge of a view is added to its diagonal
    block in both (Gong, Ke, Isard and Lazebnik, "A Multi-View Embedding Space for Modeling Internet Images,
    Tags, and their Semantics", IJCV 2014). After whitening every view, D is the identity and S has identity
    blocks on its diagonal, which leaves a symmetric eigenproblem as large as the ranks together.

    Axes with λ ≤ 1 are left out: along them the views do not agree.

    Args:
        views: the principal axes of each view over the same rows.
        ridges: one per view, in units of variance.
        components: how many solutions to find at most.

    Returns:
        λ descending, and per view the coordinates of its part of each w; w'Dw = 1.
    """
    whiteners = [1.0 / np.sqrt(view.variances + ridge) for view, ridge in zip(views, ridges, strict=True)]
    whitened = [
        view.row_basis * (np.sqrt(view.variances) * whitener) for view, whitener in zip(views, whiteners, strict=True)
    ]
    stacked = np.concatenate(whitened, axis=1)
    agreement = stacked.T @ stacked
    ends = np.cumsum([view.rank for view in views])
    blocks = [slice(end - view.rank, end) for end, view in zip(ends, views, strict=True)]
    for block, view in zip(blocks, views, strict=True):
        agreement[block, block] = np.eye(view.rank)
    last = len(agreement) - 1
    first = max(0, last - components + 1)
    values, vectors = scipy.linalg.eigh(agreement, subset_by_index=(first, last), overwrite_a=True, check_finite=False)
    kept = np.flatnonzero(values > 1.0 + _BEYOND_ROUNDING)[::-1]
    coordinates = [
        whitener[:, None] * vectors[block][:, kept] for block, whitener in zip(blocks, whiteners, strict=True)
    ]
    return values[kept], coordinates
