"""Choose settings on validation for methods whose components are ordered, so that fewer are a prefix of more."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from diptych._core.arrays import Floats
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress
from diptych.methods.selection import Search, Validation

Setting = dict[str, Any]


class Solution(Protocol):
    """What one setting gives: a number of ordered components."""

    @property
    def components(self) -> int:
        """How many components it holds."""


T = TypeVar("T", bound=Solution)


@dataclass(frozen=True)
class Grid:
    """The values of one open parameter.

    Attributes:
        values: what validation chooses from, the simplest first; the first of equals wins.
        fallback: what is taken when there is no validation split.
    """

    values: tuple[Any, ...]
    fallback: Any

    def options(self, pinned: Any | None, judged: bool) -> list[Any]:  # noqa: ANN401 - each parameter has its own type
        """The values to try, given the user's value (None for open) and whether there is a judge."""
        if pinned is not None:
            return [pinned]
        return list(self.values) if judged else [self.fallback]


@dataclass(frozen=True)
class Choice(Generic[T]):
    """The outcome: the best setting's solution, how many of its components to keep, and all trials."""

    solution: T
    setting: Setting
    components: int
    trials: list[dict[str, Any]]


def choose(
    settings: Sequence[Setting],
    sizes: Sequence[int],
    solve: Callable[[Setting], T],
    codes: Callable[[T], Mapping[str, Floats]],
    validation: Validation | None,
    progress: Progress,
    stage: str,
) -> Choice[T]:
    """Solve each setting once and score every prefix of its components; without a choice nothing is scored.

    Args:
        settings: what to solve, in the order of preference.
        sizes: numbers of components; those beyond what a solution holds mean all of it.
        solve: finds a setting's solution with at least `max(sizes)` components where there are as many.
        codes: embeds the validation rows of each modality with a solution.
        validation: the judge; None takes the first setting and size.
        progress: told after every setting.
        stage: what to call this in progress reports.
    """
    if validation is None or (len(settings) == 1 and len(sizes) == 1):
        only = solve(settings[0])
        return Choice(only, dict(settings[0]), min(sizes[0], only.components), [])
    search, best = Search(), None
    for done, setting in enumerate(settings, start=1):
        solution = solve(setting)
        embedded = codes(solution)
        for size in sorted({min(size, solution.components) for size in sizes}):
            score = validation.score({name: values[:, :size] for name, values in embedded.items()})
            if search.add({**setting, "components": size}, score):
                best = solution, setting, size
        progress(stage, done, len(settings), {f"validation {validation.measure}": search.best_score})
    assert best is not None
    return Choice(best[0], dict(best[1]), best[2], search.trials)


def check_at_least(owner: str, name: str, value: float | None, least: float) -> None:
    """Refuse a pinned parameter below what makes sense; None is open."""
    if value is not None and not value >= least:
        raise ConfigError(f"{owner}: {name} is {value}; it must be at least {least}, or None to choose on validation.")
