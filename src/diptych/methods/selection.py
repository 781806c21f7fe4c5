"""A method's parameters, and choosing those a paper leaves open by their score on the validation split."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any, Literal, Self

import numpy as np

from diptych._core.arrays import Features, check_types, plain
from diptych._core.errors import ConfigError
from diptych.data import Labels, Partition, TrainingData
from diptych.evaluation import Similarity, expected_average_precision, mean_average_precision

FEWEST_LABELLED = 100
FEWEST_PER_CLASS = 3
MORE_PAIRS = 2
FEWEST_PAIRS = 20
FEWEST_TO_JUDGE = 2
"""When labels are too few to choose by: fewer than `FEWEST_LABELLED` validation items have one, or fewer than
`FEWEST_PER_CLASS` for each class they name, while at least `FEWEST_PAIRS` validation items have a partner, and
`MORE_PAIRS` times as many as have a label. A modality with fewer than `FEWEST_TO_JUDGE` validation items is not
scored."""


class Parametrised:
    """Give `get_params`, `set_params` and a repr to a class whose constructor only stores its arguments."""

    @classmethod
    def parameter_defaults(cls) -> dict[str, Any]:
        """The constructor's parameters and their defaults."""
        signature = inspect.signature(cls.__init__)
        return {name: p.default for name, p in signature.parameters.items() if name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The current parameters, by name."""
        return {name: getattr(self, name) for name in self.parameter_defaults()}

    def plain_params(self) -> dict[str, Any]:
        """The current parameters for a file: a grid of NumPy numbers leaves plain ones there."""
        return {name: plain(value) for name, value in self.get_params().items()}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 - each parameter has its own type
        """Change some parameters; an unknown name is an error."""
        check_names(type(self).__name__, params, list(self.parameter_defaults()))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def check_params(self) -> None:
        """Refuse a value of another type than the constructor's annotation says; ranges are the method's own matter.

        Raises:
            ConfigError: naming the parameter, its value and what it may be.
        """
        check_types(type(self).__name__, type(self).__init__, self.get_params())

    def __repr__(self) -> str:
        defaults = self.parameter_defaults()
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name]]
        return f"{type(self).__name__}({', '.join(changed)})"


def check_names(owner: str, given: dict[str, Any], known: list[str]) -> None:
    """Refuse parameters the owner does not have."""
    for name in given:
        if name not in known:
            raise ConfigError(f"{owner} has no parameter '{name}'; it has {', '.join(known) or 'none'}.")


@dataclass(frozen=True)
class Validation:
    """The score on the validation split: the mean MAP over all ordered pairs of modalities (see `directions`).

    If validation items have no labels, an item's own partner is relevant; the average precision is then the reciprocal
    of its rank. Partners are also used if labels are few and pairs are many (`scores_by_partner`), because a dozen
    labels choose at random. If every validation item has a label, labels are used, however few items there are.

    Attributes:
        rows: the validation rows of each modality.
        labels: the labels of those rows.
        k: how many results count; None for all.
        by: what makes two items relevant to each other: a shared class, or being partners.
    """

    rows: Mapping[str, Features]
    labels: Mapping[str, Labels]
    k: int | None = None
    by: Literal["class", "partner"] = "class"

    @classmethod
    def of(cls, data: TrainingData) -> "Validation | None":
        """The validation split of the training data; None if nothing can be scored."""
        if data.validation is None:
            return None
        part = data.validation
        by_class = not scores_by_partner(part, data.modalities)
        part = part.labelled() if by_class else part
        parts = {name: part.having(name) for name in data.modalities}
        if sum(len(p) >= FEWEST_TO_JUDGE for p in parts.values()) < 2:
            return None
        identity = Labels.from_identity(part.documents.tolist())
        labels = {
            name: p.labels if by_class else identity.take(np.isin(part.index, p.index)) for name, p in parts.items()
        }
        rows = {name: p.features(name) for name, p in parts.items()}
        return cls(rows, labels, data.select_at, "class" if by_class else "partner")

    @property
    def measure(self) -> str:
        """What the score is, for a person: "MAP", or "MRR" where partners are to be found."""
        return "MAP" if self.by == "class" else "MRR"

    def score(self, embeddings: Mapping[str, Any], similarity: Similarity = "cosine") -> float:
        """Score embedded validation rows, one matrix per modality."""
        return self.score_directions({(a, b): (embeddings[a], embeddings[b]) for a, b in self.directions}, similarity)

    @cached_property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """The directions that count: of more than two modalities, those in which something can be found."""
        known = [name for name, labels in self.labels.items() if len(labels) >= FEWEST_TO_JUDGE]
        every = tuple(permutations(known if len(known) > 1 else self.labels, 2))
        if len(self.rows) == 2:
            return every
        found = [(a, b) for a, b in every if self.labels[a].shared_counts(self.labels[b]).any()]
        return tuple(found) or every

    def chance(self) -> float:
        """What random embeddings score on average."""
        levels = [
            expected_average_precision(counts[counts > 0], len(self.labels[b]), self.k).mean()
            for a, b in self.directions
            if (counts := self.labels[a].shared_counts(self.labels[b])).any()
        ]
        return float(np.mean(levels)) if levels else 0.0

    def score_directions(
        self, representations: Mapping[tuple[str, str], tuple[Any, Any]], similarity: Similarity = "cosine"
    ) -> float:
        """Score representations that differ by direction: (query, gallery) modality to their two matrices."""
        scores = [
            mean_average_precision(q, g, self.labels[a], self.labels[b], k=self.k, similarity=similarity)
            for (a, b), (q, g) in representations.items()
        ]
        return float(np.mean(scores))


def scores_by_partner(part: Partition, modalities: tuple[str, ...]) -> bool:
    """Whether validation items are to find their own partners, because none has a label or too few have."""
    labelled = int(part.labels.is_labelled.sum())
    if not labelled:
        return True
    classes = int(np.count_nonzero(part.labels.class_counts()))
    few = labelled < FEWEST_LABELLED or labelled < FEWEST_PER_CLASS * classes
    pairs = len(part.having_two_of(*modalities)) if few else 0
    return pairs >= max(FEWEST_PAIRS, MORE_PAIRS * labelled)


def selection_note(data: TrainingData) -> str | None:
    """Say where partners decide although there are labels; None where labels decide, or nothing does."""
    part = data.validation
    if part is None or not part.labels.is_labelled.any() or not scores_by_partner(part, data.modalities):
        return None
    return (
        f"only {int(part.labels.is_labelled.sum())} of {len(part)} validation items have a label, so settings were "
        "chosen by how well items find their own partners"
    )


@dataclass
class Search:
    """The values tried and the validation score of each; ties go to the first."""

    trials: list[dict[str, Any]] = field(default_factory=list)

    def add(self, params: Mapping[str, Any], score: float) -> bool:
        """Record a trial; return whether it is the best so far."""
        best = not self.trials or score > self.best_score
        self.trials.append({"params": dict(params), "score": score})
        return best

    @property
    def best_score(self) -> float:
        """The best score so far."""
        return float(max(trial["score"] for trial in self.trials))

    def nearly_best(self, tolerance: float) -> list[dict[str, Any]]:
        """The parameters of all trials that come within a tolerance of the best, in the order they were tried."""
        enough = self.best_score - tolerance
        return [trial["params"] for trial in self.trials if trial["score"] >= enough]

    @property
    def best(self) -> dict[str, Any]:
        """The parameters of the best trial."""
        chosen: dict[str, Any] = max(self.trials, key=lambda trial: trial["score"])["params"]
        return chosen
