import pytest

from diptych._core.errors import ConfigError
from diptych.experiments.reproduce.claims import CHANCE_TOLERANCE, LEFT_OUT, ORDERS, claims_of
from diptych.experiments.reproduce.studies import LINEUP, STUDIES, Study, row_of, study

# of a random ranking of the test items, by simulation, to three digits
CHANCE = {"wikipedia": 0.122, "nuswide10k": 0.106}


@pytest.mark.parametrize("name", STUDIES)
def test_every_published_average_is_that_of_its_two_directions(name):
    for method, measures in STUDIES[name].published.items():
        for measure, (first, second, average) in measures.items():
            assert abs((first + second) / 2 - average) <= 0.0005 + 1e-9, (method, measure)


@pytest.mark.parametrize("name", STUDIES)
def test_every_figure_of_the_three_tables_is_there(name):
    published = STUDIES[name].published
    main = [row.method for row in LINEUP if row.group == "paper"]
    ablation = [row.method for row in LINEUP if row.group == "ablation"]
    assert len(main) == 10 and len(ablation) == 3
    assert set(published) == {*main, *ablation}
    assert all(set(published[method]) == {"map", "map@50"} for method in main)
    assert all(set(published[method]) == {"map"} for method in ablation)


@pytest.mark.parametrize("claim", ORDERS, ids=lambda claim: claim.key)
@pytest.mark.parametrize("name", STUDIES)
def test_the_paper_s_own_figures_support_each_claim(name, claim):
    published = STUDIES[name].published
    assert claim.steps
    for higher, lower in claim.steps:
        assert published[higher][claim.measure][2] > published[lower][claim.measure][2], (higher, lower)


@pytest.mark.parametrize("name", CHANCE)
def test_the_paper_s_cca_is_at_chance_by_our_rule(name):
    average = STUDIES[name].published["cca-paper"]["map"][2]
    assert abs(average - CHANCE[name]) <= CHANCE_TOLERANCE


def test_no_method_is_above_itself_and_keys_are_unique():
    claims = claims_of(STUDIES["wikipedia"])
    assert len({claim.key for claim in claims}) == len(claims)
    assert all(higher != lower for claim in ORDERS for higher, lower in claim.steps)


def test_what_the_claims_speak_of_is_in_the_line_up():
    names = [row.method for row in LINEUP]
    assert len(set(names)) == len(names)
    spoken = {method for claim in ORDERS for method in claim.methods} | set(LEFT_OUT)
    assert spoken <= set(names)
    assert row_of("something-else").group == "beyond"


def test_a_study_without_published_figures_keeps_the_orders():
    kept = claims_of(Study("rsicd", "RSICD", ("image", "text"), "ask"))
    assert {claim.key for claim in kept} == {claim.key for claim in ORDERS} | {"beyond"}


def test_an_unknown_study_is_named():
    with pytest.raises(ConfigError, match="called 'wikipedai'; did you mean 'wikipedia'"):
        study("wikipedai")
    with pytest.raises(ConfigError, match="there are wikipedia, nuswide10k"):
        study("zzz")
