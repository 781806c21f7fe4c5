"""The optimisation inside joint representation learning: two label regressions that agree and are row-sparse.

Over a projection P of one modality and Q of the other,

    σ tr(Pᵀ G_x P) + σ tr(Qᵀ G_y Q) + μ ‖X_l P − L_x‖² + μ ‖Y_l Q − L_y‖² + λ ‖X_p P − Y_p Q‖²
      + γ Σ_i √(‖P_i‖² + ε) + γ Σ_i √(‖Q_i‖² + ε)

with G the graph's matrix, X_l the labelled rows, X_p the rows of pairs, P_i row i, and ε the smoothing
without which a row that reaches zero could not be differentiated. All data enter as products that do not
depend on σ, λ, μ or γ, so that a whole grid of them reads the data once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors

from diptych._core.arrays import Floats, Sparse
from diptych._core.errors import ConfigError, FitError

EPSILON = 1e-10


@dataclass(frozen=True)
class Side:
    """What the objective needs of one modality.

    Attributes:
        graph: G, features × features.
        labelled: X_lᵀ X_l.
        paired: X_pᵀ X_p.
        towards_labels: X_lᵀ L.
        label_norm: ‖L‖².
    """

    graph: Floats
    labelled: Floats
    paired: Floats
    towards_labels: Floats
    label_norm: float

    @classmethod
    def of(cls, graph: Floats, labelled: Floats, targets: Floats, paired: Floats) -> "Side":
        """Form the products from labelled rows, their targets, and the rows of pairs."""
        norm = float(np.sum(targets**2))
        return cls(graph, labelled.T @ labelled, paired.T @ paired, labelled.T @ targets, norm)


@dataclass(frozen=True)
class Weights:
    """The weights of the terms.

    Attributes:
        sparsity: γ.
        graph: σ.
        pairs: λ.
        labels: μ.
    """

    sparsity: float
    graph: float
    pairs: float
    labels: float


Projections = tuple[Floats, Floats]


@dataclass(frozen=True)
class Problem:
    """Both sides, and `across` = X_pᵀ Y_p between them."""

    first: Side
    second: Side
    across: Floats

    def objective(self, at: Projections, weights: Weights, epsilon: float = EPSILON) -> float:
        """The value of the smoothed objective."""
        value = -2.0 * weights.pairs * float(np.sum(at[0] * (self.across @ at[1])))
        for side, projection in zip((self.first, self.second), at, strict=True):
            value += float(np.sum(projection * (_quadratic(side, weights) @ projection)))
            value -= 2.0 * weights.labels * float(np.sum(projection * side.towards_labels))
            value += weights.labels * side.label_norm
            value += weights.sparsity * float(_row_norms(projection, epsilon).sum())
        return value


def solve(
    problem: Problem,
    weights: Weights,
    *,
    start: Projections | None = None,
    max_iterations: int = 50,
    tolerance: float = 1e-6,
    epsilon: float = EPSILON,
) -> tuple[Projections, list[float]]:
    """Minimise by iterative reweighting, one side after the other, each with the other's newest value.

    With D = diag(1 / (2 √(‖P_i‖² + ε))) at the current P, the next one is

        P ← (γ D + σ G + λ X_pᵀX_p + μ X_lᵀX_l)⁻¹ (λ X_pᵀY_p Q + μ X_lᵀL).

    Every step minimises a bound that touches the objective at the current point, so the objective never rises.

    Args:
        problem: the products of the data.
        weights: the weights of the terms.
        start: where to begin, such as the solution under nearby weights; a ridge regression on the labels if None.
        max_iterations: how many times both sides are updated at most.
        tolerance: stop when the objective falls by less than this share of itself.
        epsilon: the smoothing of the row norms.

    Returns:
        The two projections, and the objective after every iteration.
    """
    quadratics = [_quadratic(side, weights) for side in (problem.first, problem.second)]
    labels = [weights.labels * side.towards_labels for side in (problem.first, problem.second)]
    across: Sequence[Floats] = (weights.pairs * problem.across, weights.pairs * problem.across.T)
    if start is None:
        halves = [np.full(len(quadratic), 0.5) for quadratic in quadratics]
        current = [_solve_side(quadratics[i], weights.sparsity * halves[i], labels[i]) for i in range(2)]
    else:
        current = list(start)
    history: list[float] = []
    for _ in range(max_iterations):
        for side in range(2):
            reweighted = weights.sparsity * 0.5 / _row_norms(current[side], epsilon)
            current[side] = _solve_side(quadratics[side], reweighted, labels[side] + across[side] @ current[1 - side])
        history.append(problem.objective((current[0], current[1]), weights, epsilon))
        if len(history) > 1 and history[-2] - history[-1] <= tolerance * abs(history[-2]):
            break
    return (current[0], current[1]), history


def _quadratic(side: Side, weights: Weights) -> Floats:
    return np.asarray(weights.graph * side.graph + weights.pairs * side.paired + weights.labels * side.labelled)


def _row_norms(projection: Floats, epsilon: float) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", projection, projection) + epsilon))


def _solve_side(quadratic: Floats, diagonal: Floats, right: Floats) -> Floats:
    system = quadratic.copy()
    system.flat[:: len(system) + 1] += diagonal
    try:
        return np.asarray(cho_solve(cho_factor(system, lower=True, overwrite_a=True, check_finite=False), right))
    except LinAlgError:
        raise FitError(
            "the equations of joint representation learning have no unique solution under these weights; "
            "raise sparsity, lower graph, or use laplacian='knn'."
        ) from None


Laplacian = Literal["knn", "released"]
LAPLACIANS: tuple[Laplacian, ...] = ("knn", "released")
_BLOCK_ENTRIES = 4_000_000


def neighbour_graph(rows: Floats, neighbours: int) -> Sparse:
    """The symmetric 0/1 graph that joins two rows when either is among the other's nearest (Euclidean).

    No row is its own neighbour. With fewer rows than neighbours asked for, every row neighbours all others.
    """
    count = min(neighbours, len(rows) - 1)
    if count < 1:
        return sp.csr_array((len(rows), len(rows)), dtype=np.float64)
    search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(rows)
    directed = sp.csr_array(search.kneighbors_graph(mode="connectivity"))
    return sp.csr_array(directed.maximum(directed.T))


def normalised_laplacian(graph: Sparse) -> Sparse:
    """L = I − D^{-1/2} W D^{-1/2}; its null vector is D^{1/2} 1 on a connected graph."""
    scale = sp.diags_array(_inverse_roots(graph))
    return sp.csr_array(sp.eye_array(graph.shape[0]) - scale @ graph @ scale)


def smoothness(rows: Floats, neighbours: int, laplacian: Laplacian = "knn") -> Floats:
    """Xᵀ L X, the matrix whose quadratic form says how much a projection differs between neighbours.

    Args:
        rows: X, scaled rows of one modality.
        neighbours: how many neighbours each row is joined to.
        laplacian: "knn" is the normalised Laplacian of the neighbour graph. "released" follows the authors'
            program, which takes degrees from the neighbour graph but puts the dense kernel 1 / (1 + e^distance)
            in the place of its weights; in many dimensions the kernel vanishes and little more than XᵀX is left.
    """
    graph = neighbour_graph(rows, neighbours)
    if laplacian == "knn":
        product = rows.T @ (normalised_laplacian(graph) @ rows)
    elif laplacian == "released":
        scaled = _inverse_roots(graph)[:, None] * rows
        product = rows.T @ rows - scaled.T @ _kernel_product(rows, scaled)
    else:
        raise ConfigError(f"laplacian is {laplacian!r}; choose one of {', '.join(LAPLACIANS)}.")
    return np.asarray((product + product.T) / 2)


def _inverse_roots(graph: Sparse) -> Floats:
    """D^{-1/2}; 0 for a row without neighbours, which then only sees itself."""
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0)


def _kernel_product(rows: Floats, right: Floats) -> Floats:
    """K right with K = 1 / (1 + e^distance), a block of rows at a time so that K is never whole."""
    step = max(1, _BLOCK_ENTRIES // max(1, len(rows)))
    blocks = [expit(-cdist(rows[i : i + step], rows)) @ right for i in range(0, len(rows), step)]
    return np.concatenate(blocks)
