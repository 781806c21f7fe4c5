import numpy as np
import pytest

from diptych.evaluation import compare, holm
from diptych.experiments.reproduce.claims import ChanceClaim, Evidence, FiguresClaim, OrderClaim, above, falling
from diptych.experiments.reproduce.verdicts import judge_claims, rank

ITEMS = 80
BASE = np.random.default_rng(0).uniform(0.2, 0.4, ITEMS)
WOBBLE = np.random.default_rng(1).normal(0, 0.05, ITEMS)
WOBBLE -= WOBBLE.mean()


def scores(**means):
    """One number per item by method: an offset to the same items, and a wobble of its own for each."""
    return {name: BASE + mean + np.roll(WOBBLE, 7 * place) for place, (name, mean) in enumerate(means.items())}


def verdict(claim, evidence):
    return judge_claims([claim], evidence)[claim.key]


THREE = OrderClaim("order", "a > b > c", falling("a", "b", "c"))


def test_ordered_and_significant_is_reproduced():
    found = verdict(THREE, Evidence({"map": scores(a=0.2, b=0.1, c=0.0)}))
    assert (found.outcome, found.words) == ("reproduced", "reproduced")
    assert found.detail.startswith("smallest step: ")
    assert [(step.higher, step.lower) for step in found.steps] == [("a", "b"), ("b", "c")]


def test_ordered_but_not_significant_is_not_reproduced():
    found = verdict(THREE, Evidence({"map": scores(a=0.2, b=0.001, c=0.0)}))
    assert found.outcome == "not reproduced"
    assert found.words == "not reproduced (ordered as claimed, not significant)"
    assert found.detail.startswith("1 of 2 steps: b above c (+0.001")


def test_one_reversed_step_is_not_reproduced_however_clear_the_others():
    found = verdict(THREE, Evidence({"map": scores(a=0.2, b=0.0, c=0.001)}))
    assert found.words == "not reproduced"
    assert found.detail.startswith("1 of 2 steps: b not above c (-0.001")


def test_equal_means_are_not_an_order():
    same = scores(a=0.1)["a"]
    found = verdict(OrderClaim("tie", "a > b", falling("a", "b")), Evidence({"map": {"a": same, "b": same}}))
    assert found.words == "not reproduced"


def test_a_failed_method_is_named_with_its_reason():
    evidence = Evidence({"map": scores(a=0.2, b=0.1)}, missing={"c": "failed: the loss is not finite"})
    found = verdict(THREE, evidence)
    assert (found.outcome, found.words) == ("cannot be tested", "cannot be tested (c failed: the loss is not finite)")
    assert found.steps == ()


def test_a_method_that_failed_under_one_seed_only_counts_as_failed():
    evidence = Evidence({"map": scores(a=0.2, b=0.1, c=0.0)}, missing={"b": "failed: seed 1: collapsed"})
    assert verdict(THREE, evidence).words == "cannot be tested (b failed: seed 1: collapsed)"


def test_a_method_that_was_not_run_is_named():
    assert verdict(THREE, Evidence({"map": scores(b=0.1, c=0.0)})).words == "cannot be tested (a was not run)"
    assert verdict(THREE, Evidence({"map": {}})).words.count("was not run") == 3


def test_a_failure_spares_the_claims_that_do_not_speak_of_it():
    pair = OrderClaim("pair", "a > b", falling("a", "b"))
    evidence = Evidence({"map": scores(a=0.2, b=0.1)}, missing={"c": "failed: x"})
    found = judge_claims([THREE, pair], evidence)
    assert found["order"].outcome == "cannot be tested"
    assert found["pair"].outcome == "reproduced"


def test_p_values_are_corrected_for_all_distinct_steps_of_all_claims():
    values = scores(a=0.02, b=0.01, c=0.0, d=0.0)
    claims = [THREE, OrderClaim("star", "a > rest", above(["a"], ["b", "c", "d"]))]
    found = judge_claims(claims, Evidence({"map": values}))
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "d")]  # a > b is in both claims and counts once
    expected = holm([compare(values[one], values[two]).p_value for one, two in pairs])
    measured = {(s.higher, s.lower): s.p_holm for each in found.values() for s in each.steps}
    assert measured == dict(zip(pairs, expected, strict=True))


def test_correction_can_cost_a_claim_its_verdict():
    values = scores(a=0.017, b=0.0, **{f"x{i}": 0.0 for i in range(12)})
    lone = OrderClaim("lone", "a > b", falling("a", "b"))
    crowd = OrderClaim("crowd", "x", falling(*(f"x{i}" for i in range(12))))
    assert verdict(lone, Evidence({"map": values})).outcome == "reproduced"
    together = judge_claims([lone, crowd], Evidence({"map": values}))["lone"]
    assert together.words == "not reproduced (ordered as claimed, not significant)"


def test_a_claim_looks_at_its_own_measure():
    claim = OrderClaim("at-50", "a > b", falling("a", "b"), measure="map@50")
    evidence = Evidence({"map": scores(a=0.0, b=0.3), "map@50": scores(a=0.3, b=0.0)})
    assert verdict(claim, evidence).outcome == "reproduced"


@pytest.mark.parametrize(("mean", "outcome"), [(0.133, "reproduced"), (0.105, "reproduced"), (0.21, "not reproduced")])
def test_chance_is_within_a_tolerance(mean, outcome):
    evidence = Evidence({"map": {"cca-paper": np.full(4, mean)}}, chance={"map": 0.12})
    found = verdict(ChanceClaim("chance", "at chance", "cca-paper"), evidence)
    assert found.outcome == found.words == outcome
    assert f"{mean:.3f}" in found.detail and "0.120" in found.detail


def test_chance_and_figures_need_the_paper_s_inputs():
    items = {"map": {"cca-paper": np.full(4, 0.12)}}
    evidence = Evidence(items, chance={"map": 0.12}, inputs_differ="text 10-d for 3,000-d")
    for claim in (ChanceClaim("c", "at chance", "cca-paper"), figures_claim()):
        found = verdict(claim, evidence)
        assert (found.outcome, found.words) == ("cannot be tested", "cannot be tested on these features")
        assert "text 10-d for 3,000-d" in found.detail


def test_chance_of_a_failed_method_cannot_be_tested():
    found = verdict(
        ChanceClaim("c", "at chance", "cca-paper"), Evidence({"map": {}}, missing={"cca-paper": "failed: x"})
    )
    assert found.words == "cannot be tested (cca-paper failed: x)"


def figures_claim():
    published = {"cfa": {"map": (0.2, 0.1, 0.15)}, "cmdn": {"map": (0.4, 0.3, 0.35)}}
    return FiguresClaim("figures", "again", published, ("a->b", "b->a", "average"))


def figures_evidence(cfa, cmdn, **others):
    def columns(triple):
        return {column: {"map": x} for column, x in zip(("a->b", "b->a", "average"), triple, strict=True)}

    figures = {"cfa": columns(cfa), "cmdn": columns(cmdn)}
    return Evidence({"map": dict.fromkeys(figures, np.zeros(2))}, figures=figures, **others)


def test_figures_within_tolerance_are_reproduced_and_networks_may_be_off_further():
    found = verdict(figures_claim(), figures_evidence((0.23, 0.07, 0.15), (0.44, 0.26, 0.35)))
    assert (found.outcome, found.detail) == ("reproduced", "all 6 figures are within tolerance")


def test_figures_outside_are_listed():
    found = verdict(figures_claim(), figures_evidence((0.236, 0.1, 0.15), (0.436, 0.3, 0.4)))
    assert found.words == "not reproduced"
    assert found.detail == "2 of 6 figures are off: cfa a → b map 0.236 for 0.200; cmdn average map 0.400 for 0.350"


def test_figures_with_a_failed_method_cannot_be_tested():
    evidence = figures_evidence((0.2, 0.1, 0.15), (0.4, 0.3, 0.35), missing={"cmdn": "failed: no memory"})
    assert verdict(figures_claim(), evidence).words == "cannot be tested (cmdn failed: no memory)"


def test_neighbours_are_adjacent_in_the_ranking_and_corrected_among_themselves():
    values = scores(low=0.0, high=0.3, middle=0.1)
    steps = rank(values)
    assert [(step.higher, step.lower) for step in steps] == [("high", "middle"), ("middle", "low")]
    assert [step.p_holm for step in steps] == holm([step.found.p_value for step in steps])
    assert rank({}) == rank(scores(alone=0.1)) == []


def test_a_verdict_is_recorded_with_its_numbers():
    body = verdict(THREE, Evidence({"map": scores(a=0.2, b=0.1, c=0.0)})).to_json()
    assert body["steps"][0]["higher"] == "a"
    assert body["steps"][0]["difference"] == pytest.approx(0.1)
    assert set(body["steps"][0]) >= {"difference_ci95", "p_value", "p_holm", "queries"}
