"""Decompositions behind the correlation methods: principal axes, truncated SVD, and ridge CCA of two or more views."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import scipy.linalg

from diptych._core.arrays import Booleans, Floats

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
    signs = _signs(left)
    return left * signs, values, right * signs


def _signs(vectors: Floats) -> Floats:
    """What makes the largest entry of each column positive: processors differ in the sign they find."""
    if not vectors.size:
        return np.ones(vectors.shape[1])
    largest = np.argmax(np.abs(vectors), axis=0)
    return np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


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


_BEYOND_ROUNDING = 1e-9


def multiview_coordinates(
    views: Sequence[Spectrum],
    ridges: Sequence[float],
    components: int,
    present: Sequence[Booleans] | None = None,
) -> tuple[Floats, list[Floats]]:
    """The leading solutions of S w = λ D w, in the coordinates of each view's principal axes.

    S holds the covariances of all views, D its diagonal blocks; the ridge of a view is added to its diagonal
    block in both (Gong, Ke, Isard and Lazebnik, "A Multi-View Embedding Space for Modeling Internet Images,
    Tags, and their Semantics", IJCV 2014). After whitening every view, D is the identity and S has identity
    blocks on its diagonal, which leaves a symmetric eigenproblem as large as the ranks together.

    Without a ridge this is MAXVAR generalised CCA (Kettenring, "Canonical Analysis of Several Sets of Variables",
    Biometrika 1971): the directions X w, summed over the views, are the leading eigenvectors of the sum of the views'
    projectors X (X'X)⁻¹ X'. Of two views λ is 1 + ρ, and the directions are those of CCA.

    Where items lack views, S has X_m' diag(1 / (k − 1)) X_l (M − 1) off its diagonal, over the items that have both, k
    being how many of the M views an item has: every view is compared with the mean of the item's other views, and an
    item of few views counts no less for it. Nothing is put in place of what is missing.

    Axes with λ ≤ 1 are left out: along them the views do not agree.

    Args:
        views: the principal axes of each view over the same rows, or over those that have it.
        ridges: one per view, in units of variance.
        components: how many solutions to find at most.
        present: for each view which items have it, in the order of its rows; None where all items have all views.

    Returns:
        λ descending, and per view the coordinates of its part of each w; w'Dw = 1 and the largest entry
        of w is positive.
    """
    whiteners = [1.0 / np.sqrt(view.variances + ridge) for view, ridge in zip(views, ridges, strict=True)]
    whitened = [
        view.row_basis * (np.sqrt(view.variances) * whitener) for view, whitener in zip(views, whiteners, strict=True)
    ]
    ends = np.cumsum([view.rank for view in views])
    blocks = [slice(end - view.rank, end) for end, view in zip(ends, views, strict=True)]
    if present is None or all(each.all() for each in present):
        stacked = np.concatenate(whitened, axis=1)
        agreement = stacked.T @ stacked
    else:
        agreement = _agreement(whitened, blocks, present)
    for block, view in zip(blocks, views, strict=True):
        agreement[block, block] = np.eye(view.rank)
    last = len(agreement) - 1
    first = max(0, last - components + 1)
    values, vectors = scipy.linalg.eigh(agreement, subset_by_index=(first, last), overwrite_a=True, check_finite=False)
    vectors *= _signs(vectors)
    kept = np.flatnonzero(values > 1.0 + _BEYOND_ROUNDING)[::-1]
    coordinates = [
        whitener[:, None] * vectors[block][:, kept] for block, whitener in zip(blocks, whiteners, strict=True)
    ]
    return values[kept], coordinates


def _agreement(whitened: Sequence[Floats], blocks: Sequence[slice], present: Sequence[Booleans]) -> Floats:
    """The products of whitened views over the items that have both, for items with unlike numbers of views."""
    counts = np.sum(present, axis=0)
    shares = (len(present) - 1) / np.maximum(counts - 1, 1)
    total = blocks[-1].stop
    agreement = np.zeros((total, total))
    for first, second in combinations(range(len(present)), 2):
        both = present[first] & present[second]
        one, other = whitened[first][both[present[first]]], whitened[second][both[present[second]]]
        product = (one * shares[both][:, None]).T @ other
        agreement[blocks[first], blocks[second]] = product
        agreement[blocks[second], blocks[first]] = product.T
    return agreement
