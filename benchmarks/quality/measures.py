"""How good a list of ten is: nDCG@10 and success@10 of graded judgements."""

from collections.abc import Sequence

import numpy as np

from benchmarks.quality.judging import BEST

DEPTH = 10


def gain(grade: int) -> float:
    """What an item of a grade is worth, 2^grade − 1: 7 for the best, 1 for the good."""
    return 2.0**grade - 1.0


def ndcg(found: Sequence[int], judged: Sequence[int], depth: int = DEPTH) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002).

    DCG = Σ_i gain_i / log2(i + 1) over the first `depth` results, divided by that of the best possible list.

    Args:
        found: the grades of the results, best first.
        judged: the grades of all items.
        depth: how many results count.
    """
    ideal = _discounted(sorted(judged, reverse=True)[:depth])
    if ideal == 0.0:
        raise ValueError("no item answers this query, so that nDCG is not defined.")
    return _discounted(found[:depth]) / ideal


def success(found: Sequence[int], depth: int = DEPTH) -> float:
    """1 if an item of the best grade is among the first `depth` results, else 0."""
    return float(BEST in found[:depth])


def _discounted(grades: Sequence[int]) -> float:
    return float(sum(gain(grade) / np.log2(rank + 2) for rank, grade in enumerate(grades)))
