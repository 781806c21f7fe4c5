"""Each method against the best one, on the same items."""

from collections.abc import Mapping
from typing import Any

from diptych._core.arrays import Floats
from diptych.evaluation import Comparison, compare, holm


class Comparisons:
    """Compare with the best method, remembering answers, because a report is written after every run."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes, bytes], Comparison] = {}

    def against_best(self, scores: Mapping[str, Floats]) -> dict[str, Any]:
        """Test every method against the one with the highest mean.

        Args:
            scores: one number per item for each method, items in the same order; the mean is what is compared.

        Returns:
            The best method's name, and for each other one the difference to it (negative), its 95% interval, and
            the p-value of a paired sign-flip test, alone and corrected for the number of tests (Holm).
        """
        if not scores:
            return {"best": None, "measure": "average map", "test": _TEST, "against_best": {}}
        best = max(scores, key=lambda name: float(scores[name].mean()))
        found = {name: self._compare(name, each, scores[best]) for name, each in scores.items() if name != best}
        corrected = holm([each.p_value for each in found.values()])
        against = {
            name: each.to_json() | {"p_holm": p} for (name, each), p in zip(found.items(), corrected, strict=True)
        }
        return {"best": best, "measure": "average map", "test": _TEST, "against_best": against}

    def _compare(self, name: str, scores: Floats, best: Floats) -> Comparison:
        key = (name, scores.tobytes(), best.tobytes())
        if key not in self._known:
            self._known[key] = compare(scores, best)
        return self._known[key]


_TEST = "paired sign-flip test over items, two-sided; p_holm is corrected for the number of comparisons (Holm)"
