"""Recipes as data and as TOML, their mistakes, and the runs they make."""

from dataclasses import replace
from pathlib import Path

import pytest

from diptych._core.errors import ConfigError
from diptych.data import Protocol
from diptych.experiments import Recipe, load_recipe, plan
from diptych.methods import registry

RECIPES = sorted((Path(__file__).parents[2] / "recipes").glob("*.toml"))


def write(tmp_path, text):
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    return path


def test_a_recipe_is_read_whole(tmp_path):
    path = write(
        tmp_path,
        """
        methods = ["steady", "seeded"]
        seeds = [3, 4]
        split = "val"
        modalities = ["image", "text"]
        [protocol]
        unlabelled = "train"
        label_share = 0.5
        [params.seeded]
        noise = 0.1
        """,
    )
    recipe = load_recipe(path)
    assert recipe.methods == ("steady", "seeded")
    assert recipe.seeds == (3, 4)
    assert recipe.split == "val"
    assert recipe.protocol.unlabelled == "train"
    assert recipe.protocol.label_share == 0.5
    assert recipe.params == {"seeded": {"noise": 0.1}}


@pytest.mark.parametrize("pairs", [True, False])
def test_a_recipe_can_let_pairs_be_used(tmp_path, pairs):
    text = f"[protocol]\nunlabelled = 'train'\nuse_pairs = {str(pairs).lower()}"
    assert load_recipe(write(tmp_path, text)).protocol.use_pairs is pairs


@pytest.mark.parametrize("name", ["propagate", "withhold_validation"])
def test_a_recipe_can_propagate_labels_and_withhold_those_of_validation(tmp_path, name):
    assert getattr(load_recipe(write(tmp_path, f"[protocol]\n{name} = true")).protocol, name) is True
    with pytest.raises(ConfigError, match=f"Protocol: {name} is 1; it must be True or False"):
        load_recipe(write(tmp_path, f"[protocol]\n{name} = 1"))


def test_all_methods_and_none_named_are_the_same(tmp_path, monkeypatch):
    """A method that fits one of the others has no row of its own unless it is asked for."""
    every = tuple(registry.names())
    chooser = replace(registry.entry("steady"), chooses=True)
    monkeypatch.setattr(registry, "_METHODS", {"chooser": chooser, **registry._METHODS})
    assert load_recipe(write(tmp_path, 'methods = "all"')).method_names == every
    assert Recipe().method_names == every
    assert Recipe(methods=("chooser", "steady")).method_names == ("chooser", "steady")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("method = ['steady']", ["'method'", "methods"]),
        ("[protocol]\nunlabeled = 'none'", ["'protocol.unlabeled'", "protocol.unlabelled"]),
        ("[params.nobody]\nx = 1", ["no method 'nobody'"]),
        ("methods = ['stedy']", ["did you mean 'steady'"]),
        ("seeds = [0, 'a']", ["'seeds'", "'a'"]),
        ("seeds = [true]", ["'seeds'", "True"]),
        ("seeds = []", ["no seed"]),
        ("seeds = [1, 1]", ["twice"]),
        ("seeds = [-1]", ["-1"]),
        ("split = 'tset'", ["'tset'", "test"]),
        ("[protocol]\nlabels_per_class = 'many'", ["labels_per_class", "many"]),
        ("[protocol]\nunlabelled = 'some'", ["'some'", "test-features"]),
        ("[protocol]\nuse_pairs = 1", ["use_pairs is 1", "True or False"]),
        ("[protocol]\nuse_pairs = true", ["use_pairs is on", "'none'", "'train'"]),
        ("[protocol]\nlabels_per_class = true", ["labels_per_class is True", "a whole number"]),
        ("params = 3", ["'params'", "table"]),
        ("seeds = [", ["not valid TOML"]),
    ],
)
def test_what_means_nothing_is_refused_with_the_file_named(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_recipe(path)
    for word in [*words, str(path)]:
        assert word in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read"):
        load_recipe(tmp_path / "none.toml")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_the_recipes_of_the_repository_load(path, monkeypatch):
    monkeypatch.undo()  # back to the real methods
    assert load_recipe(path).seeds


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
