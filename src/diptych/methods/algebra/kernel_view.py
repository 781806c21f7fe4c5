"""One view in the feature space of a kernel: its principal axes, on all rows or seen from landmarks."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from diptych._core.arrays import Floats
from diptych.methods.algebra.spectrum import positive_eigenpairs, spectrum

_JITTER = 1e-10


@dataclass(frozen=True)
class KernelView:
    """The principal axes of rows in a kernel's centred feature space.

    Attributes:
        values: λ, the eigenvalues of the centred kernel matrix, descending.
        row_basis: U, its eigenvectors, rows × rank.
        dual_basis: from coordinates on the axes to weights on the landmarks, landmarks × rank.
        column_means: the mean over the rows of their kernel with each landmark.
    """

    values: Floats
    row_basis: Floats
    dual_basis: Floats
    column_means: Floats

    def dual(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Weights α and offsets c such that `kernel(x, landmarks) @ α − c` projects any x."""
        weights = self.dual_basis @ coordinates
        return weights, self.column_means @ weights


def centre(kernel: Floats) -> Floats:
    """K − 1K/n − K1/n + 1K1/n², with 1 the matrix of ones: centring in the feature space."""
    columns = kernel.mean(axis=0)
    return np.asarray(kernel - columns - kernel.mean(axis=1, keepdims=True) + columns.mean())


def full_view(kernel: Floats) -> KernelView:
    """The axes from the kernel of all rows with each other, every row being a landmark.

    A new row's kernel k is centred with the training statistics, k − 1K/n − k1/n + 1K1/n². Taking the mean
    out of the weights does the subtraction of k's own mean, and the offset does the rest.
    """
    values, vectors = positive_eigenpairs(centre(kernel))
    weights = vectors / np.sqrt(values)
    return KernelView(values, vectors, weights - weights.mean(axis=0), kernel.mean(axis=0))


def landmark_view(with_landmarks: Floats, among_landmarks: Floats) -> KernelView:
    """The axes from the kernel of all rows with some landmark rows (Williams and Seeger, NIPS 2001).

    With L L' = K_mm the Nyström features are φ(x) = L⁻¹ k(x), whose inner products are k(x)' K_mm⁻¹ k(y).
    All rows, not only the landmarks, decide the axes; with every row a landmark this is `full_view`.
    """
    size = len(among_landmarks)
    jitter = _JITTER * size * float(np.mean(np.diagonal(among_landmarks)))
    lower = scipy.linalg.cholesky(among_landmarks + jitter * np.eye(size), lower=True, check_finite=False)
    features = scipy.linalg.solve_triangular(lower, with_landmarks.T, lower=True, check_finite=False).T
    view = spectrum(features - features.mean(axis=0))
    axes = view.weights(np.eye(view.rank))
    dual_basis = scipy.linalg.solve_triangular(lower, axes, lower=True, trans="T", check_finite=False)
    return KernelView(view.variances * (len(features) - 1), view.row_basis, dual_basis, with_landmarks.mean(axis=0))
