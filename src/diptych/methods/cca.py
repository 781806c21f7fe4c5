"""Canonical correlation analysis, with a ridge chosen on validation or as bare as in the papers."""

from typing import ClassVar, Literal

from diptych._core.arrays import Floats
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress
from diptych.data import TrainingData
from diptych.methods._prefix_search import Grid, Setting, check_at_least
from diptych.methods.algebra.canonical import canonical_coordinates
from diptych.methods.algebra.spectrum import cross_basis, spectrum
from diptych.methods.linear import LinearMaps, LinearMethod, LinearProblem

RIDGES = Grid((10.0, 1.0, 0.1, 1e-2, 1e-3), fallback=0.1)
COMPONENTS = Grid((5, 10, 20, 50, 100, 200), fallback=10)
MODES = ("tuned", "paper")


class CCA(LinearMethod):
    """Directions along which the modalities of a pair correlate most (Hotelling, Biometrika 1936).

    Maximise a' C₁₂ b subject to a'(C₁₁ + r₁ I)a = 1 and b'(C₂₂ + r₂ I)b = 1; see `canonical_coordinates`.
    Without a ridge and with more dimensions than pairs every correlation is 1, whatever the data: retrieval
    is then at chance, as in the tables of several papers. `mode="paper"` does just that, on purpose.

    Args:
        mode: "tuned" chooses ridge and components on validation; "paper" has no ridge and keeps all components.
        components: how many directions; None chooses them (or keeps all, in paper mode).
        ridge: r as a multiple of the modality's mean variance; None chooses it.
        weight_power: multiply direction i by ρᵢ to this power.
        scaling: a scaling recipe, or one by modality.

    Attributes:
        strengths_: the canonical correlations ρ.
    """

    citation: ClassVar[str] = "H. Hotelling: Relations between two sets of variates. Biometrika 28, 1936."

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

    def _problem(self, rows: dict[str, Floats], data: TrainingData, judged: bool, progress: Progress) -> LinearProblem:
        self._check()
        paper = self.mode == "paper"
        ridges = [0.0] if paper else RIDGES.options(self.ridge, judged)
        views = []
        for done, values in enumerate(rows.values(), start=1):
            views.append(spectrum(values, exact=min(ridges) == 0))
            progress("CCA axes", done, len(rows))
        first, second = views
        cross = cross_basis(first, second)
        rank = min(first.rank, second.rank)
        sizes = [rank] if paper and self.components is None else COMPONENTS.options(self.components, judged)

        def solve(setting: Setting) -> LinearMaps:
            ridge = setting["ridge"]
            correlations, a, b = canonical_coordinates(
                cross,
                (first.variances, second.variances),
                (ridge * first.mean_variance, ridge * second.mean_variance),
                max(sizes),
            )
            emphasis = correlations**self.weight_power
            weights = (view.weights(part) * emphasis for view, part in zip(views, (a, b), strict=True))
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
