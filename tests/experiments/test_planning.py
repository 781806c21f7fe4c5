import pytest

from diptych._core.errors import ConfigError
from diptych.data import Protocol
from diptych.experiments import Recipe, plan


def test_a_deterministic_method_runs_once_for_all_seeds():
    (run,) = plan(Recipe(methods=("steady",), seeds=(5, 6, 7)))
    assert (run.seed, run.stands_for, run.deterministic) == (0, (5, 6, 7), True)
    assert "seed" not in run.params


def test_a_stochastic_method_runs_once_per_seed_with_its_seed():
    runs = plan(Recipe(methods=("seeded",), seeds=(5, 6), params={"seeded": {"noise": 0.2}}))
    assert [run.params for run in runs] == [{"noise": 0.2, "seed": 5}, {"noise": 0.2, "seed": 6}]
    assert [run.protocol.seed for run in runs] == [5, 6]


def test_withheld_labels_make_every_method_depend_on_the_seed():
    runs = plan(Recipe(methods=("steady",), seeds=(1, 2), protocol=Protocol(labels_per_class=3)))
    assert [(run.seed, run.protocol.seed, run.deterministic) for run in runs] == [(1, 1, False), (2, 2, False)]
    assert all("seed" not in run.params for run in runs)


def test_a_parameter_nobody_has_stops_everything():
    with pytest.raises(ConfigError, match="method 'steady' has no parameter 'rigde'; it has ridge"):
        plan(Recipe(methods=("steady",), params={"steady": {"rigde": 1}}))


def test_the_seed_is_not_a_parameter_to_set():
    with pytest.raises(ConfigError, match=r"'seeded\.seed' comes from the list of seeds"):
        plan(Recipe(methods=("seeded",), params={"seeded": {"seed": 3}}))


def test_a_method_whose_package_is_missing_is_one_failed_run():
    (run,) = plan(Recipe(methods=("absent",), seeds=(0, 1)))
    assert "diptych[deep]" in run.problem


def test_a_profile_reaches_the_methods_that_know_one_and_a_parameter_overrides_it():
    given = {
        run.method: run.params.get("profile") for run in plan(Recipe(methods=("steady", "profiled"), profile="fast"))
    }
    assert given == {"steady": None, "profiled": "fast"}
    (run,) = plan(Recipe(methods=("profiled",), profile="fast", params={"profiled": {"profile": "paper"}}))
    assert run.params["profile"] == "paper"


def test_an_unknown_profile_is_named():
    with pytest.raises(ConfigError, match=r"profile is 'quick'.*standard"):
        Recipe(profile="quick")
