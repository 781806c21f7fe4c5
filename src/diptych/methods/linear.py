"""Methods whose embedding is a matrix: scale a row, centre it, multiply."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diptych._core.arrays import Features, Floats
from diptych._core.progress import Progress
from diptych.data import TrainingData
from diptych.features.scaling import Scaling
from diptych.methods._prefix_search import Setting, choose
from diptych.methods._scalings import scaled_pairs
from diptych.methods.base import Method
from diptych.methods.selection import Validation


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
    def _problem(self, rows: dict[str, Floats], data: TrainingData, judged: bool, progress: Progress) -> LinearProblem:
        """Prepare the search, from scaled and centred rows of the training pairs and whether there is a judge."""

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
