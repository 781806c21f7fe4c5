"""Canonical correlation analysis, and cross-modal factor analysis."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from diptych._core.arrays import Booleans, Floats
from diptych._core.errors import ConfigError, FitError
from diptych._core.progress import Progress
from diptych.data import Labels, TrainingData
from diptych.methods.linear.algebra import (
    Spectrum,
    canonical_coordinates,
    cross_basis,
    multiview_coordinates,
    spectrum,
    truncated_svd,
)
from diptych.methods.linear.linear_method import Grid, LinearMaps, LinearMethod, LinearProblem, Setting, check_at_least
from diptych.methods.training_inputs import presence, training_pairs

RIDGES = Grid((10.0, 1.0, 0.1, 1e-2, 1e-3), fallback=0.1)
COMPONENTS = Grid((5, 10, 20, 50, 100, 200), fallback=10)
POWERS = Grid((0.0, 1.0, 2.0, 4.0, 8.0), fallback=4.0)
MODES = ("tuned", "paper")


class CCA(LinearMethod):
    """Directions along which the modalities of a pair correlate most (Hotelling, Biometrika 1936).

    Maximise a' C₁₂ b subject to a'(C₁₁ + r₁ I)a = 1 and b'(C₂₂ + r₂ I)b = 1; see `canonical_coordinates`. More than two
    modalities are handled by generalised CCA (MAXVAR, Kettenring, Biometrika 1971), which is the same for two; see
    `multiview_coordinates`. Items with at least two modalities contribute those they have.

    Without a ridge and with more dimensions than pairs every correlation is 1, whatever the data, and retrieval is at
    chance level, as in the tables of several papers. `mode="paper"` reproduces this.

    Args:
        mode: "tuned" chooses ridge and components on validation; "paper" has no ridge and keeps all components.
        components: how many directions; None chooses them (or keeps all, in paper mode).
        ridge: r as a multiple of the modality's mean variance; None chooses it.
        weight_power: multiply direction i by ρᵢ to this power.
        scaling: a scaling recipe, or one by modality.

    Attributes:
        strengths_: the canonical correlations ρ; of more than two modalities, of each with the mean of the others.
    """

    max_modalities: ClassVar[int | None] = None
    citation: ClassVar[str] = (
        "H. Hotelling: Relations between two sets of variates. Biometrika 28, 1936. "
        "J. R. Kettenring: Canonical analysis of several sets of variables. Biometrika 58, 1971."
    )

    def __init__(
        self,
        mode: Literal["tuned", "paper"] = "tuned",
        components: int | None = None,
        ridge: float | None = None,
        weight_power: float = 0.0,
        scaling: str | dict[str, str] = "auto",
    ) -> None:
        self.mode = mode
        self.components = components
        self.ridge = ridge
        self.weight_power = weight_power
        self.scaling = scaling

    def _problem(
        self, rows: dict[str, Floats], data: TrainingData, validated: bool, progress: Progress
    ) -> LinearProblem:
        self._check()
        paper = self.mode == "paper"
        ridges = [0.0] if paper else RIDGES.options(self.ridge, validated)
        views = []
        for done, values in enumerate(rows.values(), start=1):
            views.append(spectrum(values, exact=min(ridges) == 0))
            progress("CCA axes", done, len(rows))
        rank = min(view.rank for view in views)
        sizes = [rank] if paper and self.components is None else COMPONENTS.options(self.components, validated)
        correlate = correlations_of(views, presence(data))

        def solve(setting: Setting) -> LinearMaps:
            correlations, parts = correlate([setting["ridge"] * view.mean_variance for view in views], max(sizes))
            emphasis = correlations**self.weight_power
            weights = (view.weights(part) * emphasis for view, part in zip(views, parts, strict=True))
            return LinearMaps(dict(zip(rows, weights, strict=True)), correlations)

        return LinearProblem([{"ridge": ridge} for ridge in ridges], sizes, solve)

    def _check(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(f"CCA: mode is {self.mode!r}; choose one of {', '.join(MODES)}.")
        check_at_least("CCA", "components", self.components, 1)
        check_at_least("CCA", "ridge", self.ridge, 0)
        check_at_least("CCA", "weight_power", self.weight_power, 0)
        if self.mode == "paper" and self.ridge:
            raise ConfigError(f"CCA: mode 'paper' has no ridge, and ridge is {self.ridge}; use mode 'tuned'.")


def correlations_of(
    views: Sequence[Spectrum], present: Sequence[Booleans]
) -> Callable[[Sequence[float], int], tuple[Floats, list[Floats]]]:
    """What solves CCA of two or more views for any ridges and number of components.

    Args:
        views: the principal axes of each view.
        present: for each view which items have it.

    Returns:
        A function from the ridges and the number of components to the correlations, descending, and the coordinates of
        each view's directions.
    """
    if len(views) > 2:

        def several(ridges: Sequence[float], components: int) -> tuple[Floats, list[Floats]]:
            values, parts = multiview_coordinates(views, ridges, components, present)
            return (values - 1.0) / (len(views) - 1), parts

        return several
    first, second = views
    cross = cross_basis(first, second)

    def two(ridges: Sequence[float], components: int) -> tuple[Floats, list[Floats]]:
        one, other = ridges
        variances = first.variances, second.variances
        correlations, *parts = canonical_coordinates(cross, variances, (one, other), components)
        return correlations, parts

    return two


class CCA3V(LinearMethod):
    """The modalities and their labels in one space (Gong, Ke, Isard and Lazebnik, IJCV 2014).

    Solve S w = λ D w, with S the covariances of all views and D its diagonal blocks, a ridge on the diagonal of
    both; modality m is embedded by its part W_m diag(λ^power) and compared by the cosine. The labels are a view
    of centred class indicators, one or several per item; a pair without a label is placed at their mean, so that it
    contributes only to how the modalities correspond. Any number of modalities is supported; items with at least two
    contribute those they have.

    Args:
        components: how many directions; None chooses them on validation.
        ridge: what is added to each view's covariance, as a multiple of its mean variance; None chooses it.
        power: how strongly λ weighs the directions, 4 in the paper; None chooses it.
        scaling: a scaling recipe, or one by modality.

    Attributes:
        strengths_: the eigenvalues λ, all above 1.
    """

    uses_labels: ClassVar[bool] = True
    max_modalities: ClassVar[int | None] = None
    citation: ClassVar[str] = (
        "Y. Gong, Q. Ke, M. Isard, S. Lazebnik: A multi-view embedding space for modeling internet images, tags, "
        "and their semantics. International Journal of Computer Vision 106, 2014."
    )

    def __init__(
        self,
        components: int | None = None,
        ridge: float | None = None,
        power: float | None = 4.0,
        scaling: str | dict[str, str] = "auto",
    ) -> None:
        self.components = components
        self.ridge = ridge
        self.power = power
        self.scaling = scaling

    def _problem(
        self, rows: dict[str, Floats], data: TrainingData, validated: bool, progress: Progress
    ) -> LinearProblem:
        check_at_least("CCA3V", "components", self.components, 1)
        check_at_least("CCA3V", "ridge", self.ridge, 0)
        check_at_least("CCA3V", "power", self.power, 0)
        ridges = RIDGES.options(self.ridge, validated)
        sizes = COMPONENTS.options(self.components, validated)
        labels = label_view(training_pairs(data).labels)
        matrices = [*rows.values(), labels]
        present = [*presence(data), np.ones(len(labels), dtype=np.bool_)]
        views = []
        for done, matrix in enumerate(matrices, start=1):
            views.append(spectrum(matrix, exact=min(ridges) == 0))
            progress("CCA3V axes", done, len(matrices))

        @lru_cache(maxsize=1)  # settings that differ in their power alone follow each other
        def unweighted(ridge: float) -> LinearMaps:
            ridges = [ridge * view.mean_variance for view in views]
            values, parts = multiview_coordinates(views, ridges, max(sizes), present)
            weights = (view.weights(part) for view, part in zip(views, parts, strict=True))
            return LinearMaps(dict(zip(rows, weights, strict=False)), values)

        def solve(setting: Setting) -> LinearMaps:
            maps = unweighted(setting["ridge"])
            emphasis = maps.strengths ** setting["power"]
            return LinearMaps({name: weights * emphasis for name, weights in maps.weights.items()}, maps.strengths)

        powers = POWERS.options(self.power, validated)
        return LinearProblem([{"ridge": r, "power": p} for r in ridges for p in powers], sizes, solve)


def label_view(labels: Labels) -> Floats:
    """Class indicators, centred over the labelled items; zero, which is then the mean, for the others."""
    indicators = labels.matrix.toarray().astype(np.float64)
    centred: Floats = indicators - indicators[labels.is_labelled].mean(axis=0)
    centred[~labels.is_labelled] = 0.0
    if not centred.any():
        raise FitError(
            "all labelled training pairs carry the same labels; CCA3V needs at least two classes to tell apart."
        )
    return centred


CFA_COMPONENTS = Grid((10, 20, 50, 100, 200, 500), fallback=10)


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
        sizes = CFA_COMPONENTS.options(self.components, validated)

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
