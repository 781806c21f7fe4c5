"""Kernel canonical correlation analysis."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress
from diptych._core.seeding import generator
from diptych.data import TrainingData
from diptych.features.scaling import Scaling
from diptych.methods.base import Method
from diptych.methods.linear.algebra import canonical_coordinates
from diptych.methods.linear.kernels import (
    KERNELS,
    Kernel,
    KernelName,
    KernelView,
    full_view,
    landmark_view,
    median_distance,
    with_unit_diagonal,
)
from diptych.methods.linear.linear_method import Grid, Setting, check_at_least, choose
from diptych.methods.selection import Validation
from diptych.methods.training_inputs import scaled_pairs

KAPPAS = Grid((1.0, 0.1, 1e-2, 1e-3), fallback=0.1)
COMPONENTS = Grid((10, 20, 50, 100, 200), fallback=10)
GAMMA_SCALES = Grid((2.0, 1.0, 0.5), fallback=1.0)
DEGREES = Grid((2, 3), fallback=2)


class KCCA(Method):
    """CCA in the feature spaces of kernels (Hardoon, Szedmak and Shawe-Taylor, Neural Computation 2004).

    Maximise α'K₁K₂β subject to α'(K₁² + κK₁)α = 1 and β'(K₂² + κK₂)β = 1, with centred kernels of unit mean
    diagonal. With K = U Λ U' this is ridge CCA of variances λ and ridge κ. More pairs than `max_landmarks` are
    approximated by Nyström features of a random subset; all pairs enter the covariances.

    Args:
        kernel: "rbf", "poly" (offset 1, γ = 1 / dimension) or "linear".
        components: how many directions; None chooses them on validation.
        kappa: κ as a multiple of the number of pairs; None chooses it.
        gamma_scale: γ = 1 / (2 s²) with s this multiple of the median distance of the modality; None chooses it.
        degree: the polynomial's degree; None chooses it.
        max_landmarks: the most rows that are kept.
        seed: which rows are landmarks, when there are more pairs.
        scaling: a scaling recipe, or one by modality.
    """

    stochastic: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "D. R. Hardoon, S. Szedmak, J. Shawe-Taylor: Canonical correlation analysis: an overview with application "
        "to learning methods. Neural Computation 16, 2004."
    )

    def __init__(
        self,
        kernel: KernelName = "rbf",
        components: int | None = None,
        kappa: float | None = None,
        gamma_scale: float | None = None,
        degree: int | None = None,
        max_landmarks: int = 4000,
        seed: int = 0,
        scaling: str | dict[str, str] = "auto",
    ) -> None:
        self.kernel = kernel
        self.components = components
        self.kappa = kappa
        self.gamma_scale = gamma_scale
        self.degree = degree
        self.max_landmarks = max_landmarks
        self.seed = seed
        self.scaling = scaling

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        self._check()
        scalings, rows = scaled_pairs(data, self.scaling)
        self.scalings_: dict[str, Scaling] = scalings
        chosen = self._landmarks(len(rows[data.modalities[0]]))
        self.landmarks_: dict[str, Floats] = {name: values[chosen] for name, values in rows.items()}
        validation = Validation.of(data)
        held_out = {} if validation is None else {n: self.scalings_[n](values) for n, values in validation.rows.items()}
        settings, sizes = self._settings(validation is not None)
        problem = KernelProblem(self.kernel, rows, self.landmarks_, held_out, max(sizes))
        choice = choose(settings, sizes, problem.solve, problem.embed, validation, progress, "KCCA search")
        kept, maps = choice.components, choice.solution
        self.kernels_: dict[str, Kernel] = maps.kernels
        self.alphas_: dict[str, Floats] = {name: values[:, :kept].copy() for name, values in maps.weights.items()}
        self.offsets_: dict[str, Floats] = {name: values[:kept].copy() for name, values in maps.offsets.items()}
        self.correlations_: Floats = maps.correlations[:kept].copy()
        self.record_["selection"] = choice.trials
        self.record_["chosen"] = {**choice.setting, "components": kept}
        self.record_["landmarks"] = len(chosen)
        if validation is None:
            self.record_["selection_note"] = "there is no validation split, so open parameters took their defaults"

    def _embed(self, modality: str, rows: Features) -> Floats:
        kernel = self.kernels_[modality](self.scalings_[modality](rows), self.landmarks_[modality])
        return kernel @ self.alphas_[modality] - self.offsets_[modality]

    def _landmarks(self, count: int) -> np.ndarray:
        if count <= self.max_landmarks:
            return np.arange(count)
        return np.sort(generator(self.seed, "kcca", "landmarks").permutation(count)[: self.max_landmarks])

    def _settings(self, validated: bool) -> tuple[list[Setting], list[int]]:
        shapes: list[Setting] = [{}]
        if self.kernel == "rbf":
            shapes = [{"gamma_scale": scale} for scale in GAMMA_SCALES.options(self.gamma_scale, validated)]
        elif self.kernel == "poly":
            shapes = [{"degree": degree} for degree in DEGREES.options(self.degree, validated)]
        kappas = KAPPAS.options(self.kappa, validated)
        settings = [{**shape, "kappa": kappa} for shape, kappa in product(shapes, kappas)]
        return settings, COMPONENTS.options(self.components, validated)

    def _check(self) -> None:
        if self.kernel not in KERNELS:
            raise ConfigError(f"KCCA: kernel is {self.kernel!r}; choose one of {', '.join(KERNELS)}.")
        check_at_least("KCCA", "components", self.components, 1)
        check_at_least("KCCA", "degree", self.degree, 1)
        check_at_least("KCCA", "kappa", self.kappa, 0)
        if self.gamma_scale is not None and not self.gamma_scale > 0:
            raise ConfigError(f"KCCA: gamma_scale is {self.gamma_scale}; it must be above 0.")
        if self.max_landmarks < 2:
            raise ConfigError(f"KCCA: max_landmarks is {self.max_landmarks}; it must be at least 2.")


@dataclass(frozen=True)
class KernelMaps:
    """By modality what embeds x as `kernel(x, landmarks) @ weights - offset`, and the canonical correlations."""

    kernels: dict[str, Kernel]
    weights: dict[str, Floats]
    offsets: dict[str, Floats]
    correlations: Floats

    @property
    def components(self) -> int:
        """How many components there are."""
        return len(self.correlations)


@dataclass(frozen=True)
class _Prepared:
    """All that depends on the kernels' shape alone."""

    shape: Setting
    kernels: dict[str, Kernel]
    views: dict[str, KernelView]
    cross: Floats
    held_out: dict[str, Floats]


class KernelProblem:
    """The views of a fit: settings that share the kernels' shape share their decomposition when they come in a row.

    Args:
        name: which kernel.
        rows: the scaled training rows of two modalities.
        landmarks: those of them that are kept; all of them make the kernel exact.
        held_out: the scaled validation rows.
        components: how many components to find.
    """

    def __init__(
        self,
        name: KernelName,
        rows: Mapping[str, Floats],
        landmarks: Mapping[str, Floats],
        held_out: Mapping[str, Floats],
        components: int,
    ) -> None:
        self._name = name
        self._rows = rows
        self._landmarks = landmarks
        self._held_out = held_out
        self._components = components
        self._distances = {m: median_distance(values) for m, values in landmarks.items()} if name == "rbf" else {}
        self._last: _Prepared | None = None

    def solve(self, setting: Setting) -> KernelMaps:
        """The canonical directions of one setting: the kernel's shape and κ as a multiple of the rows."""
        prepared = self._prepare({key: value for key, value in setting.items() if key != "kappa"})
        first, second = prepared.views.values()
        kappa = setting["kappa"] * len(first.row_basis)
        correlations, a, b = canonical_coordinates(
            prepared.cross, (first.values, second.values), (kappa, kappa), self._components
        )
        duals = {name: view.dual(part) for (name, view), part in zip(prepared.views.items(), (a, b), strict=True)}
        return KernelMaps(
            prepared.kernels,
            {name: weights for name, (weights, _) in duals.items()},
            {name: offset for name, (_, offset) in duals.items()},
            correlations,
        )

    def embed(self, maps: KernelMaps) -> dict[str, Floats]:
        """The validation rows embedded by the maps that `solve` returned last."""
        assert self._last is not None and maps.kernels is self._last.kernels
        held_out = self._last.held_out
        return {name: np.asarray(kernel @ maps.weights[name] - maps.offsets[name]) for name, kernel in held_out.items()}

    def _prepare(self, shape: Setting) -> _Prepared:
        if self._last is None or self._last.shape != shape:
            self._last = None  # the old matrices go before the new ones come
            kernels = {name: self._kernel(name, shape) for name in self._rows}
            views = {name: self._view(name, kernel) for name, kernel in kernels.items()}
            first, second = views.values()
            held_out = {n: kernels[n](values, self._landmarks[n]) for n, values in self._held_out.items()}
            self._last = _Prepared(shape, kernels, views, first.row_basis.T @ second.row_basis, held_out)
        return self._last

    def _kernel(self, modality: str, shape: Setting) -> Kernel:
        rows = self._rows[modality]
        kernel = Kernel(self._name)
        if self._name == "rbf":
            width = shape["gamma_scale"] * self._distances[modality]
            kernel = Kernel("rbf", gamma=1.0 / (2.0 * width**2))
        elif self._name == "poly":
            kernel = Kernel("poly", gamma=1.0 / rows.shape[1], degree=shape["degree"])
        return with_unit_diagonal(kernel, rows)

    def _view(self, modality: str, kernel: Kernel) -> KernelView:
        rows, landmarks = self._rows[modality], self._landmarks[modality]
        if len(landmarks) == len(rows):
            return full_view(kernel(rows, rows))
        return landmark_view(kernel(rows, landmarks), kernel(landmarks, landmarks))
