"""The graph term of joint representation learning: Xᵀ L X for a graph over the rows of one modality."""

from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.special import expit
from sklearn.neighbors import NearestNeighbors

from diptych._core.arrays import Floats, Sparse
from diptych._core.errors import ConfigError

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
