"""Whether probabilities mean what they say: of the pairs given 70 %, do 70 % belong together?"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from diptych._core.arrays import Booleans, Floats
from diptych.search.pairs import Pairs, Side, itself
from diptych.search.probability_map import ProbabilityMap

BINS = 10
TOP = 10
_ROWS = 256


def reliability(
    probabilities: ArrayLike, relevant: ArrayLike, weights: ArrayLike | None = None, *, bins: int = BINS
) -> dict[str, Any]:
    """The reliability curve and the expected calibration error.

    The pairs are put into bins of equal width by their probability. With n_b the weight of a bin, p_b its mean
    probability and f_b the share of relevant pairs, the error is Σ_b n_b/n · |p_b − f_b| (Naeini et al., AAAI 2015).

    Returns:
        `error`, `pairs`, and `curve`: for each bin that is not empty its mean `probability`, the `frequency` of
        relevant pairs and the `share` of all pairs in it.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    truth = np.asarray(relevant, dtype=np.float64)
    counts = np.ones_like(given) if weights is None else np.asarray(weights, dtype=np.float64)
    place = np.minimum((given * bins).astype(np.int64), bins - 1)
    size, said, seen = (np.bincount(place, counts * column, bins) for column in (np.ones_like(given), given, truth))
    filled = np.flatnonzero(size)
    curve = [
        {"probability": said[b] / size[b], "frequency": seen[b] / size[b], "share": size[b] / size.sum()}
        for b in filled
    ]
    error = sum(point["share"] * abs(point["probability"] - point["frequency"]) for point in curve)
    return {"error": float(error), "pairs": len(given), "curve": [{k: float(v) for k, v in p.items()} for p in curve]}


def judged(curve: ProbabilityMap, queries: Side, gallery: Side, pairs: Pairs) -> dict[str, Any]:
    """The reliability over all pairs, and over the ten best results of each query, which are what a person sees.

    Most pairs are hopeless and rightly given almost nothing, so that the first figure alone would flatter.
    """
    cosines, relevant = _best(queries, gallery)
    return {
        "all_pairs": reliability(curve(pairs.cosines), pairs.relevant, pairs.weights),
        f"top_{TOP}": reliability(curve(cosines), relevant),
    }


def _best(queries: Side, gallery: Side) -> tuple[Floats, Booleans]:
    cosines, relevant = [np.zeros(0)], [np.zeros(0, np.bool_)]
    for start in range(0, len(queries), _ROWS):
        block = queries.take(np.arange(start, min(start + _ROWS, len(queries))))
        scores = np.where(itself(block, gallery), -np.inf, block.codes @ gallery.codes.T)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
        found = np.take_along_axis(scores, best, axis=1)
        shared = np.take_along_axis(block.labels.shared_with(gallery.labels), best, axis=1)
        real = np.isfinite(found)
        cosines.append(found[real])
        relevant.append(shared[real])
    return np.concatenate(cosines), np.concatenate(relevant)
