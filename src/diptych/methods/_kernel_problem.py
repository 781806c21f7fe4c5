"""What kernel CCA solves for one setting, with the costly part shared by settings of the same kernel."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diptych._core.arrays import Floats
from diptych.methods._prefix_search import Setting
from diptych.methods.algebra.canonical import canonical_coordinates
from diptych.methods.algebra.kernel_view import KernelView, full_view, landmark_view
from diptych.methods.algebra.kernels import Kernel, KernelName, median_distance, with_unit_diagonal


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

    def codes(self, maps: KernelMaps) -> dict[str, Floats]:
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
