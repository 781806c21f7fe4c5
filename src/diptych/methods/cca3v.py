"""Canonical correlation with the labels as one more view."""

from functools import lru_cache
from typing import ClassVar

import numpy as np

from diptych._core.arrays import Floats
from diptych._core.errors import FitError
from diptych._core.progress import Progress
from diptych.data import Labels, TrainingData
from diptych.methods._prefix_search import Grid, Setting, check_at_least
from diptych.methods._scalings import training_pairs
from diptych.methods.algebra.multiview import multiview_coordinates
from diptych.methods.algebra.spectrum import spectrum
from diptych.methods.linear import LinearMaps, LinearMethod, LinearProblem

RIDGES = Grid((10.0, 1.0, 0.1, 1e-2, 1e-3), fallback=0.1)
COMPONENTS = Grid((5, 10, 20, 50, 100, 200), fallback=10)
POWERS = Grid((0.0, 1.0, 2.0, 4.0, 8.0), fallback=4.0)


class CCA3V(LinearMethod):
    """The modalities and their labels in one space (Gong, Ke, Isard and Lazebnik, IJCV 2014).

    Solve S w = λ D w, with S the covariances of all views and D its diagonal blocks, a ridge on the diagonal of
    both; modality m is embedded by its part W_m diag(λ^power) and compared by the cosine. The labels are a view
    of centred class indicators, one or several per item; a pair without a label stands at their mean, so that it
    says nothing of the classes and still counts for how the modalities correspond. Any number of modalities
    takes part.

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

    def _problem(self, rows: dict[str, Floats], data: TrainingData, judged: bool, progress: Progress) -> LinearProblem:
        check_at_least("CCA3V", "components", self.components, 1)
        check_at_least("CCA3V", "ridge", self.ridge, 0)
        check_at_least("CCA3V", "power", self.power, 0)
        ridges = RIDGES.options(self.ridge, judged)
        sizes = COMPONENTS.options(self.components, judged)
        matrices = [*rows.values(), label_view(training_pairs(data).labels)]
        views = []
        for done, matrix in enumerate(matrices, start=1):
            views.append(spectrum(matrix, exact=min(ridges) == 0))
            progress("CCA3V axes", done, len(matrices))

        @lru_cache(maxsize=1)  # settings that differ in their power alone follow each other
        def unweighted(ridge: float) -> LinearMaps:
            values, parts = multiview_coordinates(views, [ridge * view.mean_variance for view in views], max(sizes))
            weights = (view.weights(part) for view, part in zip(views, parts, strict=True))
            return LinearMaps(dict(zip(rows, weights, strict=False)), values)

        def solve(setting: Setting) -> LinearMaps:
            maps = unweighted(setting["ridge"])
            emphasis = maps.strengths ** setting["power"]
            return LinearMaps({name: weights * emphasis for name, weights in maps.weights.items()}, maps.strengths)

        powers = POWERS.options(self.power, judged)
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
