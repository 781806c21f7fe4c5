"""Kernels with unit mean diagonal, and a view's principal axes in the feature space of a kernel."""

from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import scipy.linalg

from diptych._core.arrays import Floats, Singles
from diptych._core.seeding import generator
from diptych._core.state import stateful
from diptych.methods.linear.algebra import positive_eigenpairs, spectrum

KernelName = Literal["rbf", "poly", "linear"]
KERNELS: tuple[KernelName, ...] = ("rbf", "poly", "linear")
POLY_OFFSET = 1.0
Rows = TypeVar("Rows", Floats, Singles)


@stateful
@dataclass(frozen=True)
class Kernel:
    """A kernel whose training diagonal averages to one, so that one ridge means the same for every kernel.

    Attributes:
        name: "rbf" exp(−γ‖x−y‖²), "poly" (γ x·y + 1)^degree or "linear" x·y.
        gamma: γ; not used by the linear kernel.
        degree: the polynomial's degree.
        divisor: what all entries are divided by.
    """

    name: KernelName
    gamma: float = 1.0
    degree: int = 1
    divisor: float = 1.0

    def __call__(self, rows: Floats, others: Floats) -> Floats:
        """The kernel of every row with every other row."""
        match self.name:
            case "rbf":
                values = np.exp(-self.gamma * squared_distances(rows, others))
            case "poly":
                values = (self.gamma * (rows @ others.T) + POLY_OFFSET) ** self.degree
            case _:
                values = rows @ others.T
        return np.asarray(values / self.divisor)

    def diagonal(self, rows: Floats) -> Floats:
        """The kernel of every row with itself."""
        squares = np.einsum("ij,ij->i", rows, rows)
        match self.name:
            case "rbf":
                values = np.ones(len(rows))
            case "poly":
                values = (self.gamma * squares + POLY_OFFSET) ** self.degree
            case _:
                values = squares
        return np.asarray(values / self.divisor)


def with_unit_diagonal(kernel: Kernel, rows: Floats) -> Kernel:
    """The same kernel, divided by its mean diagonal over the given rows."""
    mean = float(kernel.diagonal(rows).mean())
    return Kernel(kernel.name, kernel.gamma, kernel.degree, kernel.divisor * (mean if mean > 0 else 1.0))


def squared_distances(rows: Floats, others: Floats) -> Floats:
    """‖x − y‖² of every row with every other row, never negative."""
    distances = rows @ others.T
    distances *= -2.0
    distances += np.einsum("ij,ij->i", rows, rows)[:, None]
    distances += np.einsum("ij,ij->i", others, others)
    return np.maximum(distances, 0.0, out=distances)


def median_distance(rows: Floats) -> float:
    """The median distance between two different rows; 1 where more than half of them coincide."""
    pairs = squared_distances(rows, rows)[np.triu_indices(len(rows), k=1)]
    middle = float(np.median(np.sqrt(pairs))) if pairs.size else 0.0
    scale = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max(initial=0.0)))
    return middle if middle > 1e-7 * scale else 1.0


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


SHARPNESS = (1.0, 2.0, 4.0, 8.0)
"""Gaussian kernels to compare: γ times the square of the median distance between rows."""

MOST_LANDMARKS = 1_000
MOST_COMPARED = 500
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True)
class GaussianFeatures:
    """The principal coordinates of rows in the feature space of a Gaussian kernel (Nyström's method).

    They are scaled to as much variance as z-scored columns have, so that penalties mean what they mean for features.

    Attributes:
        kernel: exp(−γ‖x − l‖²).
        landmarks: the training rows l.
        projection: from the kernel of a row with the landmarks to its coordinates.
        offset: subtracted from these.
    """

    kernel: Kernel
    landmarks: Floats
    projection: Floats
    offset: Floats

    @classmethod
    def of(cls, rows: Floats | Singles, sharpness: float, seed: int, most: int | None = None) -> "GaussianFeatures":
        """Draw landmarks from training rows, at most so many or `MOST_LANDMARKS`, and learn the axes from all rows."""
        chosen = np.sort(generator(seed, "landmarks").permutation(len(rows))[: most or MOST_LANDMARKS])
        exact = rows.astype(np.float64)
        landmarks = exact[chosen]
        kernel = Kernel("rbf", sharpness / median_distance(landmarks[:MOST_COMPARED]) ** 2)
        view = landmark_view(kernel(exact, landmarks), kernel(landmarks, landmarks))
        kept = view.values > _LEAST_VARIANCE * view.values[0]
        scale = np.sqrt(rows.shape[1] * len(rows) / view.values[kept].sum())
        projection, offset = view.dual(scale * np.eye(len(kept))[:, kept])
        return cls(kernel, landmarks, projection, offset)

    def __call__(self, rows: Rows) -> Rows:
        """Map scaled features; the result has their precision."""
        mapped = self.kernel(rows.astype(np.float64), self.landmarks) @ self.projection - self.offset
        return np.asarray(mapped, dtype=rows.dtype)
