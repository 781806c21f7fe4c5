"""Judge each claim by stated rules: paired tests of who is above whom, chance levels and published figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal

from diptych._core.arrays import Floats
from diptych.evaluation import Comparison, compare, holm
from diptych.experiments.report import show_p
from diptych.experiments.reproduce.claims import (
    CHANCE_TOLERANCE,
    ChanceClaim,
    Claim,
    Evidence,
    FiguresClaim,
    OrderClaim,
    Step,
)

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


Outcome = Literal["reproduced", "not reproduced", "cannot be tested"]

RULES: Final = (
    "A claim about an order is **reproduced** if every step of it holds: the mean over all items (average of both "
    "directions) is higher, and the paired sign-flip test over the items has p below "
    f"{ALPHA} after Holm's correction for all distinct steps that the claims test under the same protocol.",
    "It is **not reproduced (ordered as claimed, not significant)** if every mean is in the claimed order but the test "
    "does not support some step, and **not reproduced** if some mean is not in the claimed order.",
    "It **cannot be tested** if one of its methods failed for any seed or was not run.",
    f"A claim that a method is at chance level is reproduced if its average MAP is within {CHANCE_TOLERANCE} of the "
    "exact level; a claim about figures, if all of them are within their tolerance. Both **cannot be tested on these "
    "features** if the inputs are not the paper's.",
    "Scores are averaged over seeds for each item before a test, so tests and intervals describe the choice of items. "
    "The spread over seeds is given separately.",
)


@dataclass(frozen=True)
class Verdict:
    """What became of a claim.

    Attributes:
        outcome: in a word.
        words: the outcome with its reason, as it stands on the page.
        detail: the numbers that decided it.
        steps: every step that was tested.
    """

    outcome: Outcome
    words: str
    detail: str = ""
    steps: tuple[StepTest, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The verdict as recorded beside results."""
        steps = [step.to_json() for step in self.steps]
        return {"outcome": self.outcome, "words": self.words, "detail": self.detail, "steps": steps}


def judge_claims(claims: Sequence[Claim], evidence: Evidence) -> dict[str, Verdict]:
    """A verdict for each claim, by its key."""
    tests = measure_steps([claim for claim in claims if isinstance(claim, OrderClaim)], evidence)
    return {claim.key: _judge(claim, evidence, tests) for claim in claims}


def _judge(claim: Claim, evidence: Evidence, tests: Tests) -> Verdict:
    if isinstance(claim, OrderClaim):
        return _judge_order(claim, evidence, tests)
    return _judge_chance(claim, evidence) if isinstance(claim, ChanceClaim) else _judge_figures(claim, evidence)


def _judge_order(claim: OrderClaim, evidence: Evidence, tests: Tests) -> Verdict:
    absent = evidence.absent(claim.methods, claim.measure)
    if absent:
        return _untestable(absent)
    steps = tuple(tests[claim.measure, step] for step in claim.steps)
    if all(step.holds for step in steps):
        closest = min(steps, key=lambda step: step.found.difference)
        return Verdict("reproduced", "reproduced", f"smallest step: {closest.words()}", steps)
    wrong = [step for step in steps if not step.ordered]
    if wrong:
        return Verdict("not reproduced", "not reproduced", _list_steps(wrong, steps), steps)
    unsure = [step for step in steps if not step.holds]
    words = "not reproduced (ordered as claimed, not significant)"
    return Verdict("not reproduced", words, _list_steps(unsure, steps), steps)


def _judge_chance(claim: ChanceClaim, evidence: Evidence) -> Verdict:
    absent = evidence.absent([claim.method])
    if absent:
        return _untestable(absent)
    mean, level = float(evidence.items["map"][claim.method].mean()), evidence.chance["map"]
    detail = f"{claim.method} has MAP {mean:.3f}, chance {level:.3f}"
    if evidence.inputs_differ:
        return _other_features(f"{detail}; inputs: {evidence.inputs_differ}")
    if abs(mean - level) <= claim.tolerance:
        return Verdict("reproduced", "reproduced", detail)
    return Verdict("not reproduced", "not reproduced", detail)


def _judge_figures(claim: FiguresClaim, evidence: Evidence) -> Verdict:
    if evidence.inputs_differ:
        return _other_features(f"inputs: {evidence.inputs_differ}")
    absent = evidence.absent(claim.published)
    if absent:
        return _untestable(absent)
    total, off = 0, list[str]()
    for method, measures in claim.published.items():
        for measure, triple in measures.items():
            for column, expected in zip(claim.columns, triple, strict=True):
                found = evidence.figures[method][column][measure]
                total += 1
                # half a unit of the third digit, because the published figures are rounded to it
                if abs(found - expected) > claim.tolerance(method) + 0.0005:
                    off.append(f"{method} {column.replace('->', ' → ')} {measure} {found:.3f} for {expected:.3f}")
    if not off:
        return Verdict("reproduced", "reproduced", f"all {total} figures are within tolerance")
    return Verdict("not reproduced", "not reproduced", f"{len(off)} of {total} figures are off: {'; '.join(off)}")


def _untestable(absent: Sequence[str]) -> Verdict:
    return Verdict("cannot be tested", f"cannot be tested ({'; '.join(absent)})")


def _other_features(detail: str) -> Verdict:
    return Verdict("cannot be tested", "cannot be tested on these features", detail)


def _list_steps(chosen: Sequence[StepTest], all_steps: Sequence[StepTest]) -> str:
    lead = f"{len(chosen)} of {len(all_steps)} steps: " if len(all_steps) > 1 else ""
    return lead + "; ".join(step.words() for step in chosen)
