"""Turn a recipe into runs: one for every method and seed, or one for all seeds where the seed changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from diptych._core.errors import ConfigError, DiptychError
from diptych.data import Dataset, Protocol
from diptych.experiments.recipe import Recipe
from diptych.methods import registry
from diptych.methods.base import Method
from diptych.methods.parameters import check_names


@dataclass(frozen=True)
class Run:
    """One fit and its evaluation.

    Attributes:
        method: the method's name.
        seed: of everything random in it.
        stands_for: the seeds of the recipe this run answers for.
        params: the parameters given, without the method's own defaults.
        protocol: what training may see, under this seed.
        deterministic: whether another seed would give the same.
        problem: why it cannot even start, if so.
    """

    method: str
    seed: int
    stands_for: tuple[int, ...]
    params: Mapping[str, Any]
    protocol: Protocol
    deterministic: bool = False
    problem: str | None = None

    @property
    def name(self) -> str:
        """How a person calls it."""
        return self.method if self.deterministic else f"{self.method} seed {self.seed}"

    def create(self) -> Method:
        """Make the unfitted method."""
        return registry.create(self.method, **self.params)


def plan(recipe: Recipe) -> list[Run]:
    """List the runs of a recipe, method by method.

    Raises:
        ConfigError: for a parameter that its method does not have.
    """
    return [run for name in recipe.method_names for run in _runs(name, recipe)]


def suited(dataset: Dataset, recipe: Recipe) -> tuple[Recipe, dict[str, str]]:
    """A recipe for all methods without those that cannot be fitted on a dataset; one with names stays as it is.

    Returns:
        The recipe, and why each method was left out.
    """
    if recipe.methods:
        return recipe, {}
    names = recipe.modalities or tuple(dataset.modalities)
    widths = {name: dataset.modalities[name].dimension for name in names if name in dataset.modalities}
    left_out = {}
    for name in recipe.method_names:
        try:
            problem = registry.method_class(name).unsuited(widths)
        except (DiptychError, ImportError):
            continue  # it is reported as failed when its turn comes
        if problem is not None:
            left_out[name] = problem
    kept = tuple(name for name in recipe.method_names if name not in left_out)
    return replace(recipe, methods=kept) if left_out else recipe, left_out


def _runs(name: str, recipe: Recipe) -> Sequence[Run]:
    params = recipe.params.get(name, {})
    try:
        method = registry.method_class(name)
    except (DiptychError, ImportError) as error:
        return [
            Run(name, recipe.seeds[0], recipe.seeds, params, recipe.protocol, deterministic=True, problem=str(error))
        ]
    if recipe.profile is not None and "profile" in method.parameter_defaults():
        params = {"profile": recipe.profile, **params}
    check_names(f"method '{name}'", dict(params), list(method.parameter_defaults()))
    if method.stochastic and "seed" in params:
        raise ConfigError(f"the parameter '{name}.seed' comes from the list of seeds; give seeds instead.")
    if not method.stochastic and not recipe.protocol.withholds_labels:
        return [Run(name, 0, recipe.seeds, params, replace(recipe.protocol, seed=0), deterministic=True)]
    return [
        Run(
            method=name,
            seed=seed,
            stands_for=(seed,),
            params={**params, "seed": seed} if method.stochastic else params,
            protocol=replace(recipe.protocol, seed=seed),
        )
        for seed in recipe.seeds
    ]
