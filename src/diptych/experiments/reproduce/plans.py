"""What is to be run: the methods that exist here, under both protocols."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from diptych._core.errors import ConfigError, DiptychError
from diptych.data import Protocol
from diptych.experiments.planning import Run, plan
from diptych.experiments.recipe import Recipe, with_params
from diptych.experiments.reproduce.lineup import LINEUP
from diptych.experiments.reproduce.studies import Study
from diptych.methods import registry

INDUCTIVE, TRANSDUCTIVE = "inductive", "transductive"


@dataclass(frozen=True)
class Plan:
    """The comparisons of one reproduction.

    Attributes:
        recipes: by protocol; transductive is left out when no method reads a pool.
        pooled: the methods that read a pool.
        absent: methods of the line-up that are not part of this version, with the reason.
    """

    recipes: Mapping[str, Recipe]
    pooled: tuple[str, ...]
    absent: Mapping[str, str]

    def runs(self, protocol: str) -> list[Run]:
        """The runs under a protocol, in order."""
        return plan(self.recipes[protocol])


def make_plan(
    study: Study,
    seeds: Sequence[int],
    profile: str | None,
    methods: Sequence[str] | None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
) -> Plan:
    """Plan a reproduction.

    Args:
        study: what is reproduced.
        seeds: of everything random.
        profile: how long and wide networks train.
        methods: names; None for the whole line-up, of which what this version lacks is reported as failed.
        params: parameters by method, on top of each method's defaults.

    Raises:
        ConfigError: for a name given that nobody knows, or no name at all.
    """
    known = registry.names()
    wanted = tuple(row.method for row in LINEUP) if methods is None else tuple(methods)
    absent = {} if methods is not None else {m: "it is not part of this version" for m in wanted if m not in known}
    chosen = tuple(name for name in wanted if name not in absent)
    if not chosen:  # a recipe without names would mean every method there is
        raise ConfigError("there is no method to run; name at least one.")
    first = with_params(
        Recipe(methods=chosen, seeds=tuple(seeds), modalities=study.modalities, profile=profile), params or {}
    )
    pooled = tuple(name for name in chosen if _reads_pools(name))
    recipes = {INDUCTIVE: first}
    if pooled:
        recipes[TRANSDUCTIVE] = replace(
            first,
            methods=pooled,
            params={name: values for name, values in first.params.items() if name in pooled},
            protocol=Protocol(unlabelled="test-features"),
        )
    return Plan(recipes, pooled, absent)


def _reads_pools(name: str) -> bool:
    try:
        return registry.method_class(name).uses_unlabelled
    except (DiptychError, ImportError):
        return False  # it will be reported as failed by the inductive comparison
