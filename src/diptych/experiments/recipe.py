"""A recipe: which methods, seeds, protocol and parameters make an experiment, as data and as TOML, and its runs."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from diptych._core.errors import ConfigError, DiptychError
from diptych.data import SPLITS, Dataset, Protocol
from diptych.methods import registry
from diptych.methods.base import Method
from diptych.methods.registry import PROFILES
from diptych.methods.selection import check_names


@dataclass(frozen=True)
class Recipe:
    """One experiment.

    Attributes:
        methods: names of the methods, in order; empty for all except `auto`.
        seeds: the seeds of everything random.
        split: the split to score on.
        modalities: the modalities to use; None for all of the dataset.
        profile: size and training time of deep methods; None for their defaults.
        protocol: what training may see; its seed is replaced by each of `seeds`.
        params: parameters by method, on top of each method's defaults.
    """

    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    split: str = "test"
    modalities: tuple[str, ...] | None = None
    profile: str | None = None
    protocol: Protocol = field(default_factory=Protocol)
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.seeds:
            raise ConfigError("there is no seed; give at least one, such as seeds = [0].")
        for name in ("seeds", "methods", "modalities"):
            values = getattr(self, name) or ()
            if len(set(values)) < len(values):
                raise ConfigError(f"{name} lists a value twice ({', '.join(map(str, values))}); keep each once.")
        if any(seed < 0 for seed in self.seeds):
            raise ConfigError(f"seed is {min(self.seeds)}; it must be zero or a positive whole number.")
        if self.split not in SPLITS:
            raise ConfigError(f"split is {self.split!r}; choose one of {', '.join(SPLITS)}.")
        if self.profile is not None and self.profile not in PROFILES:
            raise ConfigError(f"profile is {self.profile!r}; choose one of {', '.join(PROFILES)}.")
        for method in (*self.methods, *self.params):
            registry.entry(method)

    @property
    def method_names(self) -> tuple[str, ...]:
        """The methods to run: those named, or every one that is not merely a choice among the others."""
        return self.methods or tuple(registry.comparable_names())


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a TOML file.

    Raises:
        ConfigError: for a file that is missing or not TOML, and for any key that means nothing here.
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read ({error.strerror}); name a recipe file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid TOML ({error}).") from None
    try:
        return _recipe(content)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def with_params(recipe: Recipe, params: Mapping[str, Mapping[str, Any]]) -> Recipe:
    """A recipe with parameters on top.

    Raises:
        ConfigError: for a parameter of a method that does not run.
    """
    for method in params:
        if method not in recipe.method_names:
            raise ConfigError(
                f"a parameter is given for '{method}', which does not run; the methods are "
                f"{', '.join(recipe.method_names)}."
            )
    names = {**recipe.params, **params}
    return replace(recipe, params={name: {**recipe.params.get(name, {}), **params.get(name, {})} for name in names})


def _recipe(content: Mapping[str, Any]) -> Recipe:
    _refuse_unknown("", content, [each.name for each in fields(Recipe)])
    given: dict[str, Any] = {}
    for name, kind in (("methods", str), ("seeds", int), ("modalities", str)):
        if name in content:
            given[name] = _tuple_of(name, content[name], kind)
    if given.get("methods") == ("all",):
        given["methods"] = ()
    for name in ("split", "profile"):
        if name in content:
            given[name] = content[name]
    if "protocol" in content:
        table = _table("protocol", content["protocol"])
        _refuse_unknown("protocol.", table, [each.name for each in fields(Protocol)])
        given["protocol"] = Protocol(**table)
    if "params" in content:
        tables = _table("params", content["params"])
        given["params"] = {method: dict(_table(f"params.{method}", table)) for method, table in tables.items()}
    return Recipe(**given)


def _refuse_unknown(prefix: str, content: Mapping[str, Any], known: list[str]) -> None:
    for key in content:
        if key not in known:
            raise ConfigError(f"there is no key '{prefix}{key}'; the keys are {', '.join(prefix + k for k in known)}.")


def _table(name: str, value: Any) -> Mapping[str, Any]:  # noqa: ANN401 - whatever TOML can hold
    if not isinstance(value, dict):
        raise ConfigError(f"'{name}' is {value!r}; it must be a table, [{name}].")
    return value


def _tuple_of(name: str, value: Any, kind: type) -> tuple[Any, ...]:  # noqa: ANN401 - whatever TOML can hold
    values = value if isinstance(value, list) else [value]
    for each in values:
        if isinstance(each, bool) or not isinstance(each, kind):
            raise ConfigError(f"'{name}' holds {each!r}; it must be a list of {kind.__name__} values.")
    return tuple(values)


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
        part: which part of a larger experiment it belongs to; its name says so.
    """

    method: str
    seed: int
    stands_for: tuple[int, ...]
    params: Mapping[str, Any]
    protocol: Protocol
    deterministic: bool = False
    problem: str | None = None
    part: str = ""

    @property
    def name(self) -> str:
        """How messages call it."""
        name = self.method if self.deterministic else f"{self.method} seed {self.seed}"
        return f"{name}, {self.part}" if self.part else name

    def in_part(self, part: str) -> "Run":
        """The same run, named with the part of the experiment it belongs to."""
        return replace(self, part=part)

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
