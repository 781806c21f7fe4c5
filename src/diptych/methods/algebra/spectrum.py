"""The principal axes of one view, found on its smaller side and used for every ridge afterwards."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from diptych._core.arrays import Floats

_SINGULAR_CUTOFF = 1e-10


@dataclass(frozen=True)
class Spectrum:
    """X / √(n−1) = U S V' of centred rows X, with one of U and V kept and the other made when asked for.

    Attributes:
        rows: X, n × p, centred.
        variances: S², descending, without those that are zero.
        left: U, n × rank, or None.
        right: V, p × rank, or None.
    """

    rows: Floats
    variances: Floats
    left: Floats | None
    right: Floats | None

    @property
    def rank(self) -> int:
        """How many axes have any variance."""
        return len(self.variances)

    @property
    def mean_variance(self) -> float:
        """The variance of a column on average; the unit ridges are counted in."""
        return float(self.variances.sum() / self.rows.shape[1])

    @cached_property
    def row_basis(self) -> Floats:
        """U: the rows' coordinates, each axis of unit length."""
        if self.left is not None:
            return self.left
        assert self.right is not None
        return np.asarray(self.rows @ (self.right / self._lengths))

    def weights(self, coordinates: Floats) -> Floats:
        """V · coordinates: from the principal axes back to the columns of X."""
        if self.right is not None:
            return np.asarray(self.right @ coordinates)
        assert self.left is not None
        return np.asarray(self.rows.T @ (self.left @ (coordinates / self._lengths[:, None])))

    @property
    def _lengths(self) -> Floats:
        return np.asarray(np.sqrt(self.variances * (self.rows.shape[0] - 1)))


def spectrum(rows: Floats, *, exact: bool = False) -> Spectrum:
    """Decompose centred rows.

    With a ridge, axes of almost no variance hardly count, and the eigenvectors of the smaller of X'X and XX'
    are all one needs. Without one such axes count fully: `exact` then pays for a singular value decomposition,
    which sees singular values down to 1e-10 of the largest where squaring sees about 1e-6.
    """
    count, dimension = rows.shape
    freedom = max(count - 1, 1)
    if exact:
        left, lengths, right = scipy.linalg.svd(rows, full_matrices=False, check_finite=False)
        kept = lengths > _SINGULAR_CUTOFF * max(lengths.max(initial=0.0), np.finfo(float).tiny)
        return Spectrum(rows, lengths[kept] ** 2 / freedom, left[:, kept], right[kept].T)
    on_columns = dimension <= count
    square = (rows.T @ rows if on_columns else rows @ rows.T) / freedom
    variances, vectors = positive_eigenpairs(square)
    return Spectrum(rows, variances, None if on_columns else vectors, vectors if on_columns else None)


def positive_eigenpairs(square: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of a symmetric matrix that stand out of rounding, descending, and their eigenvectors.

    The matrix is destroyed.
    """
    values, vectors = scipy.linalg.eigh(square, driver="evd", overwrite_a=True, check_finite=False)
    noise = len(values) * np.finfo(np.float64).eps * max(values.max(initial=0.0), np.finfo(float).tiny)
    kept = np.flatnonzero(values > noise)[::-1]
    return values[kept], vectors[:, kept]


def cross_basis(first: Spectrum, second: Spectrum) -> Floats:
    """U₁' U₂: how the axes of two views of the same rows lie to each other."""
    if first.right is None or second.right is None or first.left is not None or second.left is not None:
        return np.asarray(first.row_basis.T @ second.row_basis)
    # Both views are narrow: their n-row bases need not be made.
    between = first.right.T @ (first.rows.T @ second.rows) @ second.right
    return np.asarray(between / np.outer(first._lengths, second._lengths))
