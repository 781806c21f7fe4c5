"""Cross-modal factor analysis: rotate two modalities onto each other."""

from typing import ClassVar

import numpy as np

from diptych._core.arrays import Floats
from diptych._core.progress import Progress
from diptych.data import TrainingData
from diptych.methods.linear.algebra import truncated_svd
from diptych.methods.linear.linear_method import Grid, LinearMaps, LinearMethod, LinearProblem, check_at_least

COMPONENTS = Grid((10, 20, 50, 100, 200, 500), fallback=10)


class CFA(LinearMethod):
    """Orthonormal directions that bring paired rows closest (Li, Dimitrova, Li and Sethi, ACM Multimedia 2003).

    Minimise ‖X A − Y B‖² with A'A = B'B = I: for square A and B this maximises tr(A' X'Y B), whose solution is
    the singular value decomposition X'Y = A diag(σ) B'. Fewer components are the leading ones.

    Args:
        components: how many directions; None chooses them on validation.
        scaling: a scaling recipe, or one by modality.

    Attributes:
        strengths_: the cross-covariance σ / (n − 1) along each pair of directions.
    """

    citation: ClassVar[str] = (
        "D. Li, N. Dimitrova, M. Li, I. K. Sethi: Multimedia content processing through cross-modal association. "
        "ACM Multimedia, 2003."
    )

    def __init__(self, components: int | None = None, scaling: str | dict[str, str] = "auto") -> None:
        self.components = components
        self.scaling = scaling

    def _problem(
        self, rows: dict[str, Floats], data: TrainingData, validated: bool, progress: Progress
    ) -> LinearProblem:
        check_at_least("CFA", "components", self.components, 1)
        sizes = COMPONENTS.options(self.components, validated)

        def solve(_: dict[str, object]) -> LinearMaps:
            first, second = rows.values()
            a, covariances, b = cross_factors(first, second, max(sizes))
            return LinearMaps(dict(zip(rows, (a, b), strict=True)), covariances / (len(first) - 1))

        return LinearProblem([{}], sizes, solve)


def cross_factors(first: Floats, second: Floats, components: int) -> tuple[Floats, Floats, Floats]:
    """The leading singular triplets of `first.T @ second`, through a small core when rows are fewer than columns."""
    count = len(first)
    if count >= min(first.shape[1], second.shape[1]):
        return truncated_svd(first.T @ second, components)
    (left, left_core), (right, right_core) = (np.linalg.qr(view.T) for view in (first, second))
    a, values, b = truncated_svd(left_core @ right_core.T, components)
    return left @ a, values, right @ b
