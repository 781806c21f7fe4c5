"""The base class of linear methods, and the choice of settings and of the number of components on validation."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from diptych._core.arrays import Features, Floats
from diptych._core.errors import ConfigError
from diptych._core.progress import Progress
from diptych.data import TrainingData
from diptych.features.scaling import Scaling
from diptych.methods.base import Method
from diptych.methods.selection import Search, Validation
from diptych.methods.training_inputs import scaled_pairs

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

    def options(self, pinned: Any | None, validated: bool) -> list[Any]:  # noqa: ANN401 - each parameter has its own type
        """The values to try, given the user's value (None for open) and whether there is a validation split."""
        if pinned is not None:
            return [pinned]
        return list(self.values) if validated else [self.fallback]


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
    embed: Callable[[T], Mapping[str, Floats]],
    validation: Validation | None,
    progress: Progress,
    stage: str,
) -> Choice[T]:
    """Solve each setting once and score every prefix of its components; without a choice nothing is scored.

    Args:
        settings: what to solve, in the order of preference.
        sizes: numbers of components; those beyond what a solution holds mean all of it.
        solve: finds a setting's solution with at least `max(sizes)` components where there are as many.
        embed: embeds the validation rows of each modality with a solution.
        validation: scores them; None takes the first setting and size.
        progress: told after every setting.
        stage: what to call this in progress reports.
    """
    if validation is None or (len(settings) == 1 and len(sizes) == 1):
        only = solve(settings[0])
        return Choice(only, dict(settings[0]), min(sizes[0], only.components), [])
    search, best = Search(), None
    for done, setting in enumerate(settings, start=1):
        solution = solve(setting)
        embedded = embed(solution)
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


@dataclass(frozen=True)
class LinearMaps:
    """One weight matrix per modality, columns ordered by strength.

    Attributes:
        weights: dimension × components, by modality.
        strengths: what each component is worth: a correlation, covariance or eigenvalue.
    """

    weights: dict[str, Floats]
    strengths: Floats

    @property
    def components(self) -> int:
        """How many components there are."""
        return len(self.strengths)


@dataclass(frozen=True)
class LinearProblem:
    """What a linear method leaves to the search.

    Attributes:
        settings: the settings to try.
        sizes: the numbers of components to try.
        solve: the maps of one setting.
    """

    settings: Sequence[Setting]
    sizes: Sequence[int]
    solve: Callable[[Setting], LinearMaps]


class LinearMethod(Method):
    """Fit scalings and centres on the training pairs, choose among solutions, embed by a product.

    Subclasses have a `scaling` parameter and write `_problem`.

    Attributes:
        scalings_: the fitted scaling of each modality.
        centres_: the mean of each modality's scaled training rows.
        weights_: the weight matrix of each modality.
        strengths_: one value per component, descending.
    """

    scaling: str | dict[str, str]

    @abstractmethod
    def _problem(
        self, rows: dict[str, Floats], data: TrainingData, validated: bool, progress: Progress
    ) -> LinearProblem:
        """Prepare the search, from scaled and centred rows of the training pairs and whether validation chooses."""

    def _fit(self, data: TrainingData, progress: Progress) -> None:
        scalings, scaled = scaled_pairs(data, self.scaling)
        self.scalings_: dict[str, Scaling] = scalings
        self.centres_: dict[str, Floats] = {name: values.mean(axis=0) for name, values in scaled.items()}
        rows = {name: values - self.centres_[name] for name, values in scaled.items()}
        validation = Validation.of(data)
        problem = self._problem(rows, data, validation is not None, progress)
        held_out = {} if validation is None else {n: self._centred(n, values) for n, values in validation.rows.items()}
        choice = choose(
            problem.settings,
            problem.sizes,
            problem.solve,
            lambda maps: {name: values @ maps.weights[name] for name, values in held_out.items()},
            validation,
            progress,
            f"{type(self).__name__} search",
        )
        kept = choice.components
        self.weights_: dict[str, Floats] = {
            name: weights[:, :kept].copy() for name, weights in choice.solution.weights.items()
        }
        self.strengths_: Floats = choice.solution.strengths[:kept].copy()
        self.record_["selection"] = choice.trials
        self.record_["chosen"] = {**choice.setting, "components": kept}
        if validation is None:
            self.record_["selection_note"] = "there is no validation split, so open parameters took their defaults"

    def _centred(self, modality: str, rows: Features) -> Floats:
        return self.scalings_[modality](rows) - self.centres_[modality]

    def _embed(self, modality: str, rows: Features) -> Floats:
        return self._centred(modality, rows) @ self.weights_[modality]
