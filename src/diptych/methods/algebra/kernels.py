"""Kernels with unit mean diagonal, and the median heuristic."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from diptych._core.arrays import Floats
from diptych._core.state import stateful

KernelName = Literal["rbf", "poly", "linear"]
KERNELS: tuple[KernelName, ...] = ("rbf", "poly", "linear")
POLY_OFFSET = 1.0


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
