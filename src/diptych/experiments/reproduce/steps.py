"""Paired tests of who is above whom, corrected for being several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from diptych._core.arrays import Floats
from diptych.evaluation import Comparison, compare, holm
from diptych.experiments.reproduce.claims import OrderClaim, Step
from diptych.experiments.reproduce.evidence import Evidence
from diptych.experiments.reproduce.wording import show_p

ALPHA: Final = 0.05
Tests = Mapping[tuple[str, Step], "StepTest"]
"""By measure and step."""


@dataclass(frozen=True)
class StepTest:
    """One step of an order, measured."""

    higher: str
    lower: str
    found: Comparison
    p_holm: float

    @property
    def ordered(self) -> bool:
        """Whether the mean is higher."""
        return self.found.difference > 0

    @property
    def holds(self) -> bool:
        """Whether the mean is higher and the test supports it."""
        return self.ordered and self.p_holm < ALPHA

    def words(self) -> str:
        """The step in words."""
        relation = "above" if self.ordered else "not above"
        low, high = self.found.interval
        numbers = f"{self.found.difference:+.3f}, {low:+.3f} to {high:+.3f}, {show_p(self.p_holm)}"
        return f"{self.higher} {relation} {self.lower} ({numbers})"

    def to_json(self) -> dict[str, Any]:
        """The step as recorded beside results."""
        return {"higher": self.higher, "lower": self.lower} | self.found.to_json() | {"p_holm": self.p_holm}


def measure_steps(claims: Sequence[OrderClaim], evidence: Evidence) -> dict[tuple[str, Step], StepTest]:
    """Test every distinct step of the claims that can be tested, corrected for all of them together."""
    testable = [claim for claim in claims if not evidence.absent(claim.methods, claim.measure)]
    keys = list(dict.fromkeys((claim.measure, step) for claim in testable for step in claim.steps))
    found = [compare(evidence.items[measure][one], evidence.items[measure][two]) for measure, (one, two) in keys]
    corrected = holm([each.p_value for each in found])
    return {key: StepTest(*key[1], each, p) for key, each, p in zip(keys, found, corrected, strict=True)}


def rank(scores: Mapping[str, Floats]) -> list[StepTest]:
    """Every method against the next one in the ranking by mean, corrected for the number of neighbours."""
    ranking = sorted(scores, key=lambda name: -float(scores[name].mean()))
    found = [compare(scores[one], scores[two]) for one, two in pairwise(ranking)]
    corrected = holm([each.p_value for each in found])
    return [
        StepTest(one, two, each, p) for (one, two), each, p in zip(pairwise(ranking), found, corrected, strict=True)
    ]
